//! Names of choices: written once, where the choice is.
//!
//! Differs from serde's own renaming: the names can be listed and asked for, by the command, by Python and in messages.

/// An enum of choices without content, each with the name by which files, commands and messages call it.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $choice:ident { $($(#[$about:meta])+ $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        pub enum $choice {
            $($(#[$about])+ #[serde(rename = $name)] $variant,)+
        }

        impl $choice {
            /// All of them, in the order in which they are listed.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name that files, commands and messages call it by.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The choice of this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|choice| choice.name() == name)
            }
        }
    };
}
pub(super) use named;
