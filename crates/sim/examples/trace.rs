use skyhop_sim::Simulation;
fn main() {
    let file = std::env::args().nth(1).unwrap();
    let loaded = skyhop_scenario::parse(&std::fs::read(&file).unwrap(), &file, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut sim = Simulation::new(&loaded.scenario, None, 1).unwrap();
    sim.run_until(sim.end());
    let r = sim.finish();
    for s in &r.series { if s.entity.contains("flow") && (s.metric == "cwnd_bytes" || s.metric=="in_flight_bytes" || s.metric=="acked_bytes") { println!("{} {}", s.entity, s.metric); for (t,v) in s.samples.iter().take(150) { print!("{:.2}:{:.0} ", t.as_secs_f64(), v/1000.0); } println!(); } }
    println!("{:?}", r.flows);
}
