settings! {
    /// Switches in a row, with hosts at each.
    pub struct StencilNameSettings {
        /// Number of switches.
        switches: u32 = 3 in 1 => 1000; required,
        /// Hosts of each switch.
        hosts_per_switch: u32 = 4 in 1 => 1000; required,
    }
}

fn stencil_name(reader: &Reader<'_>) -> Option<BuiltTopology> {
    let own = reader.read::<StencilNameSettings>();
    let link = one_link(reader);
    let StencilNameSettings { switches, hosts_per_switch } = own.value;
    let build = |link| StencilName { switches, hosts_per_switch, link }.build().map_err(one);
    own.good().then(|| built(reader, link, PLACEHOLDER, build))?
}
