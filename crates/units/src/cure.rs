//! Advice for a text that is almost a quantity: a unit in another spelling, or a number with a comma.
//!
//! Follows the spellings of tools and papers: `sec`, `Mbits/s`, `KB`, `degrees`; and IEEE 1541, where b is a bit and B a byte.
//! Differs from a nearest spelling: no cure turns bits into bytes, which would be wrong by a factor of eight.
//! Leaves out guessing at units that are one letter off: all of them have one to three letters.

/// Units as others write them, and as they are written here.
const OTHERS: &[(&str, &[&str])] = &[
    ("ns", &["nsec", "nsecs", "nanosecond", "nanoseconds"]),
    ("us", &["usec", "usecs", "microsecond", "microseconds"]),
    ("ms", &["msec", "msecs", "millisecond", "milliseconds"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("min", &["mins", "minute", "minutes"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
    ("d", &["day", "days"]),
    ("bit/s", &["bits/s", "bit/sec", "bits/sec", "b/s", "b/sec", "bit", "bits"]),
    ("B/s", &["byte/s", "bytes/s", "B/sec", "bytes/sec"]),
    ("B", &["byte", "bytes", "octet", "octets"]),
    ("packets", &["pkt", "pkts", "pcks"]),
    ("segments", &["seg", "segs"]),
    ("m", &["meter", "meters", "metre", "metres"]),
    ("km", &["kms", "kilometer", "kilometers", "kilometre", "kilometres"]),
    ("m/s", &["mps", "m/sec", "ms-1"]),
    ("km/h", &["kmh", "kph", "kmph", "km/hr"]),
    ("kn", &["kt", "kts", "knot", "knots"]),
    ("deg", &["°", "degs", "degree", "degrees"]),
    ("rad", &["rads", "radian", "radians"]),
];

/// The message of an unknown `unit` in `text`, where `known` are the units of `what` ("a rate"), with a cure if there is one.
pub(crate) fn unknown_unit(what: &str, text: &str, unit: &str, known: &[&str]) -> String {
    if let Some(message) = comma(text) {
        return message;
    }
    let rates = known.contains(&"bit/s");
    if rates && matches!(unit.to_lowercase().as_str(), "bps" | "kbps" | "mbps" | "gbps" | "kibps" | "mibps") {
        return format!(
            "unit \"{unit}\" is ambiguous (some tools read it as bits, others as bytes per second); \
             write Mbit/s or MB/s (or kbit/s, kB/s, Gbit/s, GB/s)"
        );
    }
    let hint = cure(unit, known).unwrap_or_default();
    format!("unknown unit \"{unit}\" for {what}; expected one of {}{hint}", known.join(", "))
}

/// The end of a message, `; ...`, that says which unit to write in place of `unit`.
fn cure(unit: &str, known: &[&str]) -> Option<String> {
    let meant = |name: &str| Some(format!("; did you mean \"{name}\"?"));
    if let Some(name) = known.iter().find(|name| is(name, unit)) {
        return meant(name);
    }
    let (prefix, rest) = prefixed(unit)?;
    let of = |base: &str| known.iter().find(|name| **name == format!("{prefix}{base}"));
    if let Some(name) = ["bit/s", "B/s", "B"].iter().find(|base| is(base, rest)).and_then(|base| of(base)) {
        // "Mb/s" means megabits by the standard, but is often meant as megabytes: the message names both.
        let bits = rest.starts_with("b/") && !rest.contains("bit");
        let bytes = if bits { format!(" (b is a bit; for bytes write {prefix}B/s)") } else { String::new() };
        return Some(format!("; did you mean \"{name}\"{bytes}?"));
    }
    if known.contains(&"B") && is("bit", rest) | matches!(rest, "b" | "bits") {
        let bytes = of("B")?;
        return Some(format!("; sizes are in bytes, and 8 {unit} are 1 {bytes}"));
    }
    None
}

/// Returns true if `unit` is another spelling of `name`: listed in [`OTHERS`], or in other case. Except in words, b is never B.
fn is(name: &str, unit: &str) -> bool {
    let words = ["bit", "byte"].iter().any(|word| unit.to_ascii_lowercase().contains(word));
    let same =
        |a: char, b: char| a == b || (a.eq_ignore_ascii_case(&b) && (words || !matches!(a, 'b' | 'B')));
    let alike = |a: &str, b: &str| a.len() == b.len() && a.chars().zip(b.chars()).all(|(a, b)| same(a, b));
    let spellings = OTHERS.iter().find(|(own, _)| *own == name).map_or(&[][..], |(_, others)| others);
    alike(name, unit) || spellings.iter().any(|other| alike(other, unit))
}

/// The SI prefix of `unit`, as it is written here, and the rest: "k" and "bits/s" of "Kbits/s". Binary prefixes become decimal.
fn prefixed(unit: &str) -> Option<(&'static str, &str)> {
    const PREFIXES: [(&str, &str); 12] = [
        ("Ki", "k"),
        ("ki", "k"),
        ("Mi", "M"),
        ("Gi", "G"),
        ("Ti", "T"),
        ("k", "k"),
        ("K", "k"),
        ("M", "M"),
        ("m", "M"),
        ("G", "G"),
        ("g", "G"),
        ("T", "T"),
    ];
    PREFIXES.iter().find_map(|(written, prefix)| Some((*prefix, unit.strip_prefix(written)?)))
}

/// The message for a number with a comma, "2,5 Mbit/s" or "1,500 kB", with the number to write instead.
fn comma(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = |c: char| c.is_ascii_digit();
    let (whole, rest) = text.split_once(',')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (fraction, unit) = rest.split_at(end);
    if fraction.is_empty() || !whole.trim_start_matches(['-', '+']).chars().all(digits) {
        return None;
    }
    let point = format!("{whole}.{fraction}{unit}");
    Some(match fraction.len() {
        3 => format!("\"{text}\" has a comma; write \"{whole}{fraction}{unit}\" or \"{point}\""),
        _ => format!("\"{text}\" has a comma; write \"{point}\""),
    })
}

#[cfg(test)]
mod tests {
    use crate::{Amount, Angle, Bytes, Length, Rate, Span};
    use std::fmt::Display;
    use std::str::FromStr;

    fn refused<T: FromStr<Err: Display> + std::fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err().to_string()
    }

    #[test]
    fn a_cure_never_turns_bits_into_bytes() {
        for (text, meant) in [
            ("2 Mb/s", "\"Mbit/s\" (b is a bit; for bytes write MB/s)?"),
            ("2 Gb/s", "\"Gbit/s\" (b is a bit; for bytes write GB/s)?"),
            ("2 kb/s", "\"kbit/s\" (b is a bit; for bytes write kB/s)?"),
            ("2 Kb/s", "\"kbit/s\" (b is a bit; for bytes write kB/s)?"),
            ("2 b/s", "\"bit/s\"?"),
            ("2 Mbits/s", "\"Mbit/s\"?"),
            ("2 mbit/s", "\"Mbit/s\"?"),
            ("2 MBit/s", "\"Mbit/s\"?"),
            ("2 Mbit", "\"Mbit/s\"?"),
            ("2 Mbits/sec", "\"Mbit/s\"?"),
            ("2 MiB/s", "\"MB/s\"?"),
            ("2 KB/s", "\"kB/s\"?"),
            ("2 Mibit/s", "\"Mbit/s\"?"),
            ("2 MBytes/s", "\"MB/s\"?"),
        ] {
            let told = refused::<Rate>(text);
            assert!(told.contains(&format!("; did you mean {meant}")), "{text}: {told}");
        }
        for text in ["2 mbps", "2 Mbps", "2 GBps"] {
            assert!(refused::<Rate>(text).contains("is ambiguous"), "{text}");
        }
        let told = refused::<Bytes>("5 Mbit");
        assert!(told.contains("; sizes are in bytes, and 8 Mbit are 1 MB"), "{told}");
        assert!(refused::<Bytes>("5 Mb").contains("8 Mb are 1 MB"), "{}", refused::<Bytes>("5 Mb"));
        assert!(refused::<Bytes>("5 KB").contains("did you mean \"kB\"?"));
        assert!(!refused::<Rate>("5 furlongs").contains("mean"));
    }

    #[test]
    fn units_as_others_write_them_have_a_cure() {
        for (text, meant) in
            [("5 sec", "s"), ("5 msec", "ms"), ("5 minutes", "min"), ("5 hours", "h"), ("5 MS", "ms")]
        {
            let told = refused::<Span>(text);
            assert!(told.contains(&format!("; did you mean \"{meant}\"?")), "{text}: {told}");
        }
        assert!(refused::<Length>("5 kilometers").contains("did you mean \"km\"?"));
        assert!(
            refused::<Angle>("5 degrees")
                .contains("for an angle; expected one of deg, rad; did you mean \"deg\"?")
        );
        assert!(refused::<Angle>("5°").contains("did you mean \"deg\"?"));
        assert!(refused::<Amount>("5 pkts").contains("did you mean \"packets\"?"));
        assert!(refused::<Amount>("5 segs").contains("did you mean \"segments\"?"));
    }

    #[test]
    fn both_micro_signs_are_microseconds() {
        for text in ["5 us", "5 µs", "5 \u{3bc}s", "5\u{b5}s"] {
            assert_eq!(text.parse(), Ok(Span::from_micros(5)), "{text}");
        }
    }

    #[test]
    fn a_comma_is_told_with_what_to_write() {
        let told = refused::<Rate>("2,5 Mbit/s");
        assert_eq!(told, "\"2,5 Mbit/s\" has a comma; write \"2.5 Mbit/s\"");
        let told = refused::<Bytes>("1,500 kB");
        assert_eq!(told, "\"1,500 kB\" has a comma; write \"1500 kB\" or \"1.500 kB\"");
        assert!(refused::<Angle>("-33,92 deg").contains("write \"-33.92 deg\""));
        assert!(refused::<Length>("550,5 km").contains("write \"550.5 km\""));
        assert!(refused::<Amount>("2,5 MB").contains("write \"2.5 MB\""));
        assert!(refused::<Rate>("2, Mbit/s").contains("unknown unit"));
    }
}
