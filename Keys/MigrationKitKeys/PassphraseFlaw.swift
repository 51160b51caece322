/// Why a key store can't keep a passphrase across a restart.
///
/// GNOME Keyring (42.1) stores a keyring without a password as a text file. It writes secrets
/// unchanged, but reads them as values of a GKeyFile: with escape sequences, and without leading
/// spaces. <https://docs.gtk.org/glib/struct.KeyFile.html>
///
/// While the daemon runs, it returns what was stored, so reading an item back proves nothing. So
/// passphrases that the file can't hold are refused before they are stored, whichever program is
/// the key store. Raw keys are stored as hexadecimal digits, and are not affected.
public enum PassphraseFlaw: String, Sendable, Equatable, CaseIterable {
    /// A line feed or carriage return. At its next start, the daemon can't read the whole keyring,
    /// including the secrets of all other programs.
    case lineBreak
    /// Another byte below 32, or 127. Password programs neither show nor copy it.
    case controlCharacter
    /// A backslash. It begins an escape sequence in the file: `\n` comes back as a line break.
    case backslash
    /// A space at the start, which the file loses.
    case leadingSpace

    /// What the passphrase has, worded to follow "the passphrase has".
    package var name: String {
        switch self {
        case .lineBreak: "a line break"
        case .controlCharacter: "a control character"
        case .backslash: "a backslash"
        case .leadingSpace: "a space at its start"
        }
    }

    /// The consequence, in a sentence.
    package var consequence: String {
        switch self {
        case .lineBreak:
            """
            In a GNOME keyring without a password, a line break makes the whole keyring unreadable \
            at the next start, including the secrets of other programs.
            """
        case .controlCharacter:
            "Password programs neither show nor copy control characters."
        case .backslash:
            """
            A GNOME keyring without a password reads a backslash as an escape sequence: after the \
            next start, the passphrase would be different.
            """
        case .leadingSpace:
            """
            A GNOME keyring without a password drops spaces at the start: after the next start, \
            the passphrase would be different.
            """
        }
    }
}
