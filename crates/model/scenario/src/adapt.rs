//! Settings whose type a registry of another room chooses.

use pullnet_settings::{AnySettings, Field, Refused, Value};

/// A configuration out of a registry, as a table of settings.
pub(crate) struct Chosen<C> {
    pub config: C,
    pub fields: &'static [Field],
    pub set: fn(&mut C, &str, Value<'_>) -> Option<Result<(), Refused>>,
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
