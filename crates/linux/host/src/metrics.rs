//! The status of a host in the text format that Prometheus reads: OpenMetrics 1.0.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::status::{Status, Totals};

/// Writes families of metrics for [`text_of`].
#[derive(Debug)]
pub struct Metrics<'a>(DescriptorEncoder<'a>);

impl Metrics<'_> {
    /// A number that only grows; its sample gets the suffix `_total`.
    ///
    /// # Errors
    /// If there is no memory for the text.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.one(name, help, &ConstCounter::new(value))
    }

    /// Several numbers that only grow, told apart by the value of a label.
    ///
    /// # Errors
    /// As [`Metrics::counter`].
    pub fn counters(&mut self, name: &str, help: &str, label: &str, rows: &[(&str, u64)]) -> fmt::Result {
        let counter = ConstCounter::new(0_u64).metric_type();
        let mut family = self.0.encode_descriptor(name, help, None, counter)?;
        rows.iter().try_for_each(|(value, count)| {
            ConstCounter::new(*count).encode(family.encode_family(&[(label, *value)])?)
        })
    }

    /// A number that may fall.
    ///
    /// # Errors
    /// As [`Metrics::counter`].
    pub fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.one(name, help, &ConstGauge::new(value))
    }

    /// A number that may fall, with one label.
    ///
    /// # Errors
    /// As [`Metrics::counter`].
    pub fn labelled(&mut self, name: &str, help: &str, label: (&str, &str), value: u64) -> fmt::Result {
        let gauge = ConstGauge::new(value);
        let mut family = self.0.encode_descriptor(name, help, None, gauge.metric_type())?;
        gauge.encode(family.encode_family(&[label])?)
    }

    fn one(&mut self, name: &str, help: &str, value: &impl EncodeMetric) -> fmt::Result {
        value.encode(self.0.encode_descriptor(name, help, None, value.metric_type())?)
    }
}

/// A function that writes families.
struct Writing<F>(F);

impl<F> fmt::Debug for Writing<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writing")
    }
}

impl<F: Fn(&mut Metrics<'_>) -> fmt::Result + Send + Sync + 'static> Collector for Writing<F> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0(&mut Metrics(encoder))
    }
}

/// The text of the families that `write` writes, in the format OpenMetrics 1.0.
#[must_use]
pub fn text_of(write: impl Fn(&mut Metrics<'_>) -> fmt::Result + Send + Sync + 'static) -> String {
    let (mut registry, mut text) = (Registry::default(), String::new());
    registry.register_collector(Box::new(Writing(write)));
    // It fails if `write` does; a part of a text would be taken for the whole.
    encode(&mut text, &registry).unwrap_or_else(|fmt::Error| text.clear());
    text
}

impl Status {
    /// The totals in the text format that Prometheus reads (OpenMetrics 1.0).
    #[must_use]
    pub fn prometheus(&self) -> String {
        let totals = self.totals;
        text_of(move |out| totals.write(out))
    }
}

impl Totals {
    /// Writes every count.
    ///
    /// # Errors
    /// As [`Metrics::counter`].
    pub fn write(&self, out: &mut Metrics<'_>) -> fmt::Result {
        let name = |name: &str| format!("pullnet_host_{name}");
        for (row, help, value) in self.counts.rows() {
            out.counter(&name(row), help, value)?;
        }
        for (row, help, value) in [
            ("opened", "Streams that this host opened", self.opened),
            ("incoming", "Streams that others opened", self.incoming),
            ("failed", "Streams that ended before their end", self.failed),
            ("tokens", "Tokens given to other hosts", self.tokens),
            ("sealed", "Packets that were sent encrypted", self.sealed),
            ("unsealed", "Encrypted packets that were taken", self.unsealed),
            ("resets_sent", "RESETs sent", self.resets_sent),
            ("resets_received", "RESETs that ended a stream", self.resets_received),
        ] {
            out.counter(&name(row), help, value)?;
        }
        let refused = "Frames and streams that were not taken";
        out.counters(&name("refused"), refused, "reason", &self.refused.rows())?;
        for (row, help, value) in [
            ("streams", "Streams at the moment", self.streams),
            ("waiting_bytes", "Memory of packets that wait for readers", self.waiting_bytes),
            ("sending_bytes", "Bytes that are not acknowledged", self.sending_bytes),
            ("remembered", "Ended connections of which copies are refused", self.remembered),
            ("peers", "Peers that are remembered", self.peers),
        ] {
            out.gauge(&name(row), help, value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_help_type_and_value() {
        let mut status = Status::default();
        status.totals.counts.sent = 17;
        status.totals.refused.malformed = 3;
        let text = status.prometheus();
        assert!(text.contains("\npullnet_host_sent_packets_total 17\n"), "{text}");
        assert!(text.contains("pullnet_host_refused_total{reason=\"malformed\"} 3\n"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let sample = line.split([' ', '{']).next().unwrap();
            let family = sample.strip_suffix("_total").unwrap_or(sample);
            for kind in ["HELP", "TYPE"] {
                assert!(text.contains(&format!("# {kind} {family} ")), "{kind} of {line}");
            }
            assert!(line.rsplit(' ').next().unwrap().parse::<u64>().is_ok(), "{line}");
        }
    }
}
