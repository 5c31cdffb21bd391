//! The planes that are recognised in files of elements: cargo run --release -p skyhop-orbit --example planes FILE ...
//!
//! Follows [`skyhop_orbit::Planes::infer`], whose documentation has the rules.
//! It prints the planes of any file of elements, without the places of single satellites.

use skyhop_orbit::Constellation;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in std::env::args().skip(1) {
        let constellation = Constellation::from_tle(&std::fs::read(&file)?, None)?;
        let planes = constellation.planes();
        println!("{file}: {} satellites", constellation.len());
        for shell in planes.shells() {
            let sizes: Vec<usize> = shell.planes.clone().map(|plane| planes.members(plane).len()).collect();
            let first = planes.members(shell.planes.start)[0];
            println!(
                "  {} planes of {} to {}, {} satellites, {:.2} min, {}",
                sizes.len(),
                sizes.iter().min().unwrap_or(&0),
                sizes.iter().max().unwrap_or(&0),
                sizes.iter().sum::<usize>(),
                constellation.period_s(first).unwrap_or_default() / 60.0,
                if shell.wraps { "all the way round" } else { "with a seam" }
            );
        }
        let placed = (0..constellation.len() as u32).filter(|s| planes.plane_slot(*s).is_some()).count();
        println!("  {} outside planes", constellation.len() - placed);
    }
    Ok(())
}
