//! Counters of the firewall's rules, for the metrics.
//!
//! Follows nft(8): each rule that counts has a comment, which names it in the metrics.
//! Differs: nft is run when the metrics are read, in a thread, so that connections do not wait for it.
//! Leaves out other tables.

use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

/// Packets and bytes, by a rule's comment.
pub type RuleCounts = BTreeMap<String, (u64, u64)>;

/// A thread that reads the counters.
pub struct RuleCounters {
    ask: SyncSender<()>,
    read: Receiver<RuleCounts>,
}

impl RuleCounters {
    /// Starts the thread; `wake` is called for each result.
    pub fn start(wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (ask, asked) = sync_channel::<()>(1);
        let (tell, read) = channel();
        std::thread::Builder::new().name("rules".into()).stack_size(256 << 10).spawn(move || {
            while asked.recv().is_ok() && tell.send(counts()).is_ok() {
                wake();
            }
        })?;
        Ok(RuleCounters { ask, read })
    }

    /// Asks for the counters. One that is under way answers for this too.
    pub fn ask(&self) {
        let _ = self.ask.try_send(());
    }

    /// The counters that have been read.
    pub fn read(&self) -> Option<RuleCounts> {
        self.read.try_iter().last()
    }
}

fn counts() -> RuleCounts {
    let listed = Command::new("nft").args(["-j", "list", "table", "inet", "skyhop"]).output();
    listed.map(|output| parse(&output.stdout)).unwrap_or_default()
}

fn parse(listed: &[u8]) -> RuleCounts {
    let mut counts = RuleCounts::new();
    let listed: Value = serde_json::from_slice(listed).unwrap_or_default();
    for rule in listed["nftables"].as_array().into_iter().flatten().map(|object| &object["rule"]) {
        let expressions = rule["expr"].as_array().into_iter().flatten();
        let counter =
            expressions.map(|expression| &expression["counter"]).find(|counter| counter.is_object());
        if let (Some(name), Some(counter)) = (rule["comment"].as_str(), counter) {
            let sum = counts.entry(name.to_owned()).or_default();
            sum.0 += counter["packets"].as_u64().unwrap_or(0);
            sum.1 += counter["bytes"].as_u64().unwrap_or(0);
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of nft 1.1, shortened.
    #[test]
    fn rules_of_one_comment_are_added_up() {
        let listed = br#"{"nftables": [{"metainfo": {"version": "1.1.3"}}, {"table": {"family": "inet", "name": "skyhop"}},
            {"rule": {"comment": "tunnels", "expr": [{"match": {}}, {"counter": {"packets": 3, "bytes": 120}}, {"accept": null}]}},
            {"rule": {"expr": [{"counter": {"packets": 9, "bytes": 9}}]}},
            {"rule": {"comment": "tunnels", "expr": [{"counter": {"packets": 1, "bytes": 60}}]}}]}"#;
        assert_eq!(parse(listed), RuleCounts::from([("tunnels".to_owned(), (4, 180))]));
        assert_eq!(parse(b"nothing"), RuleCounts::new());
    }
}
