    TopologyKind {
        name: "stencil-name",
        summary: "switches in a row, hosts at each",
        fields: StencilNameSettings::FIELDS,
        tables: || link_tables(&[]),
        build: stencil_name,
    },
