import Glibc
import MigrationKitKeys

/// The key store that this session has.
public enum DesktopKeyStore {
    /// The Secret Service; in a sandbox that can't reach it, the portal.
    ///
    /// `SECRET_BACKEND` decides, as it does for libsecret's own programs: `service`, or `file` for the
    /// portal. Without it, a program in a Flatpak or a Snap gets the portal if it has stored keys there
    /// before, or if no Secret Service answers. Only then is the session bus asked.
    ///
    /// - Parameters:
    ///   - collection: The collection of the Secret Service to search and store in; nil for all. The
    ///     portal has none.
    ///   - timeout: How long each call may take, without the time in which the Secret Service asks the user.
    ///   - questionTimeout: How long the user may take to answer a question of the Secret Service; nil for
    ///     any time.
    ///   - allowsPrompt: Whether the user may be asked to unlock a collection. The portal asks anyway.
    public static func current(
        collection: String? = nil,
        timeout: Duration = .seconds(30),
        questionTimeout: Duration? = nil,
        allowsPrompt: Bool = true
    ) -> any DiagnosableKeyStore {
        let service = SecretServiceKeyStore(
            collection: collection,
            timeout: timeout,
            questionTimeout: questionTimeout,
            allowsPrompt: allowsPrompt
        )
        let portal = PortalKeyStore(timeout: timeout)
        switch environmentVariable("SECRET_BACKEND") {
        case "service": return service
        case "file": return portal
        default: break
        }
        guard Sandbox.current != nil, collection == nil else { return service }
        if access(portal.file, F_OK) == 0 { return portal }
        do {
            _ = try service.provider()
        } catch KeyStoreError.noBus, KeyStoreError.noService {
            return portal
        } catch {}
        return service
    }
}
