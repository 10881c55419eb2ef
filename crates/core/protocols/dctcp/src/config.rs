/// A settings table of a transport with DCTCP's reaction to marks. The table that it extends comes first: a macro such as
/// [`pullnet_window::window_settings`], which has the settings of all hosts of its kind.
#[macro_export]
macro_rules! dctcp_settings {
    ($($table:ident)::+: $(#[$doc:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $($table)::+! {
            $(#[$doc])*
            pub struct $name {
                /// Weight of the latest window in alpha (g). Source: RFC 8257, section 4.2, 1/16.
                gain: f64 = 0.0625 in 0.0001 => 1.0,
                /// Alpha of a new connection or subflow. Source: RFC 8257, section 4.2, 1; public NDP code: 0.
                initial_alpha: f64 = 1.0 in 0.0 => 1.0,
                /// When the window is reduced. Source: RFC 8257, section 3.3, mark; public NDP code: always.
                reaction: $crate::Reaction = "mark",
                /// Whether the first mark ends slow start where `reaction` waits for the end of the window. Source: public
                /// NDP code.
                leave_slow_start: bool = true unused if reaction == "mark",
                /// Whether SYN and SYN-ACK are ECN-capable: otherwise marking switches drop them. Source: RFC 8257, section
                /// 3.6; off: RFC 3168, section 6.1.1, and the SIGCOMM paper.
                ecn_handshake: bool = true,
                $($own)*
            }
        }

        impl $name {
            /// How the window reacts to marks.
            pub fn dctcp(&self) -> $crate::DctcpRules {
                $crate::DctcpRules {
                    growth: self.growth(),
                    gain: self.gain,
                    initial_alpha: self.initial_alpha,
                    reaction: self.reaction,
                    leave_slow_start: self.leave_slow_start,
                }
            }

            /// The settings that all window-based transports have, with ECN.
            pub fn marked_rules(&self) -> pullnet_window::Rules {
                pullnet_window::Rules { ecn: true, ecn_handshake: self.ecn_handshake, ..self.rules() }
            }
        }
    };
}
