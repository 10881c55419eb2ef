//! Settings whose type is chosen by a registry.

use pullnet_settings::{AnySettings, Field, Refused, Value};

/// A configuration from a registry, as a table of settings.
pub struct Chosen<C> {
    /// The settings, with their defaults before they are read.
    pub config: C,
    /// The available settings.
    pub fields: &'static [Field],
    /// Sets one setting; `None` if there is no such setting.
    pub set: fn(&mut C, &str, Value<'_>) -> Option<Result<(), Refused>>,
    /// Formats one setting as it would be written.
    pub get: fn(&C, &str) -> Option<String>,
}

impl<C> AnySettings for Chosen<C> {
    fn fields(&self) -> &'static [Field] {
        self.fields
    }
    fn set_field(&mut self, name: &str, value: Value<'_>) -> Option<Result<(), Refused>> {
        (self.set)(&mut self.config, name, value)
    }
    fn get_field(&self, name: &str) -> Option<String> {
        (self.get)(&self.config, name)
    }
}
