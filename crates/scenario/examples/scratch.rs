fn main(){
 println!("{}", serde_json::to_string_pretty(&schemars::schema_for!(skyhop_scenario::Scenario)).unwrap());
 let t = "duration = \"1 s\"\n\n[links.sat]\nrate = 1\nqueue = { kind = \"a\", b = 99999999999999999999, c=0x10, d = 1_000, e=1e400 }\n[a.b.c]\nx=1\n[[flows]]\nname=\"a\"\n[[flows]]\nname='b'\nq.r.s=1\n";
 fn walk(v:&toml::de::DeValue, t:&str, ind:usize){
   match v { toml::de::DeValue::Table(m)=>for (k,x) in m.iter(){ println!("{:ind$}{:?} key {:?} val {:?} = {:?}", "", k.get_ref(), k.span(), x.span(), &t[x.span()]); walk(x.get_ref(), t, ind+2);},
    toml::de::DeValue::Array(a)=>for x in a.iter(){ println!("{:ind$}- {:?} {:?}", "", x.span(), &t[x.span()]); walk(x.get_ref(),t,ind+2)},
    o=>println!("{:ind$}{o:?}","") } }
 let (d,e)=toml::de::DeTable::parse_recoverable(t);
 println!("{e:?}");
 walk(&toml::de::DeValue::Table(d.into_inner()), t, 0);
 for t in ["a = \n", "a=1\na=2", "a = foo", "[a\nb=1", "\0\0\0", "x=[[[[", "a=\"x\n b=1", "mss = 1 kB"] { let (_,e)=toml::de::DeTable::parse_recoverable(t); for e in e { println!("{t:?}: {:?} {:?}", e.message(), e.span()); } }
 for t in ["reno","1 Mbit/s","10","{a=1}","\"x\"","1.5","[1]",""] { let (d,e)=toml::de::DeValue::parse_recoverable(t); println!("{t} {:?} {}", d.get_ref(), e.len()); }
}
