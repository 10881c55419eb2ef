use pullnet_settings::Setting;

const TEMPLATE: &str = include_str!("template.toml");

/// A scenario to start from, called `name`, with a comment on every line.
pub fn template(name: &str) -> String {
    TEMPLATE.replace("\"NAME\"", &name.to_owned().write())
}
