//! Any bytes as the beginning of a stream, in any pieces: as the fuzz target `preamble`, in each run of the tests.
//!
//! Follows docs/stp.md §16. Longer: `PROPTEST_CASES=20000000 cargo test --release -p skyhop-splice --test all preamble::`.

use proptest::prelude::*;
use skyhop_splice::preamble::{Destination, MOST, Preamble, READ_MOST};
use std::net::{IpAddr, SocketAddr};

/// Any bytes, or those of a preamble of which one is another.
fn beginning() -> impl Strategy<Value = Vec<u8>> {
    let written = (
        any::<IpAddr>(),
        any::<u16>(),
        any::<Option<IpAddr>>(),
        any::<Option<u8>>(),
        "[a-z.]{0,20}",
        any::<bool>(),
    )
        .prop_map(|(ip, port, source, dscp, name, named)| {
            let to = if named {
                Destination::Name(name, port)
            } else {
                Destination::Address(SocketAddr::new(ip, port))
            };
            let source = source.map(|ip| SocketAddr::new(ip, 9));
            let mut bytes = Vec::new();
            Preamble { source, dscp: dscp.map(|dscp| dscp & 63), ..Preamble::to(to) }.emit(&mut bytes);
            bytes
        });
    let altered =
        (written, any::<prop::sample::Index>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(mut bytes, at, by, more)| {
                let at = at.index(bytes.len());
                bytes[at] = by;
                bytes.extend(more);
                bytes
            });
    prop_oneof![altered, prop::collection::vec(any::<u8>(), 0..700)]
}

proptest! {
    #[test]
    fn pieces_do_not_change_what_is_read(bytes in beginning(), step in 1..300_usize) {
        let whole = Preamble::parse(&bytes);
        let mut come = 0;
        while come < bytes.len() {
            come = (come + step).min(bytes.len());
            match Preamble::parse(&bytes[..come]) {
                // More is asked for within bounds only.
                Ok(None) => prop_assert!(come < READ_MOST),
                early => {
                    prop_assert_eq!(early, whole.clone());
                    break;
                }
            }
        }
        if let Ok(Some((preamble, len))) = whole {
            prop_assert!(len <= READ_MOST && len <= bytes.len());
            let mut again = Vec::new();
            preamble.emit(&mut again);
            prop_assert!(again.len() <= len.min(MOST));
            prop_assert_eq!(Preamble::parse(&again), Ok(Some((preamble, again.len()))));
        }
    }
}
