//! Names of choices, written once at the choice.
//!
//! Differs from serde's renaming: the names can be listed and looked up, by the command, by Python and in messages.

/// Defines an enum of choices without contents, each with its name in files, commands and messages.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $choice:ident { $($(#[$about:meta])+ $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        pub enum $choice {
            $($(#[$about])+ #[serde(rename = $name)] $variant,)+
        }

        impl $choice {
            /// All choices, in the order in which they are listed.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Name of the choice in files, commands and messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The choice of this name; `None` if there is none.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|choice| choice.name() == name)
            }
        }
    };
}
pub(super) use named;
