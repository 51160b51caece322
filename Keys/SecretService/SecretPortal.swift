import CKeyStore
import CLibSecret
import Glibc
import MigrationKitKeys
import MigrationKitCommon

/// The desktop's portal, which gives each program in a sandbox a secret of its own.
/// <https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Secret.html>
enum SecretPortal {
    private static let program = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    /// The most that is read. GNOME Keyring's secrets have 64 bytes.
    private static let limit = 4096

    /// This program's secret, always the same. The user may be asked to unlock the keyring behind it.
    ///
    /// At the time limit the request isn't closed: after one that was, GNOME Keyring gives no program a
    /// secret until it is started again (daemon/dbus/gkd-secret-portal.c, its one GCancellable).
    ///
    /// - Throws: ``KeyStoreError``; ``TimeLimit/Expired``.
    static func secret(_ bus: SessionBus) throws -> Secret {
        var ends: [Int32] = [-1, -1]
        guard ckeystore_pipe(&ends) == 0 else {
            throw KeyStoreError.failure(message: systemReason(errno))
        }
        defer { close(ends[0]) }
        let responses = BusSignals(bus, of: program, "org.freedesktop.portal.Request", "Response")
        let request =
            try call(
                bus,
                "org.freedesktop.portal.Secret.RetrieveSecret",
                [.descriptor(0), .strings([:])],
                descriptors: [ends[1]]
            ).strings.first ?? ""
        let secret = try Secret(capacity: limit) { memory in
            var (count, isAtEnd) = (0, false)
            while true {
                responses.receive()
                // The first number is 0 if it was granted.
                let answer = responses.latest[request]?.integers.first
                guard answer ?? 0 == 0 else { throw KeyStoreError.portalRefused }
                if answer != nil, isAtEnd { return count }
                guard g_cancellable_is_cancelled(bus.cancellation.pointer) == 0 else {
                    throw TimeLimit.Expired()
                }
                let more = isAtEnd ? nil : try read(ends[0], memory[count...])
                count += more ?? 0
                isAtEnd = isAtEnd || more == 0
                if more == nil { usleep(1000) }
            }
        }
        guard secret.count >= 32 else {
            throw KeyStoreError.failure(message: "the portal's secret is too short")
        }
        return secret
    }

    /// Throws if there is no such portal, or it keeps no secrets. Nobody is asked.
    static func check(_ bus: SessionBus) throws {
        let property: [BusValue] = [.string("org.freedesktop.portal.Secret"), .string("version")]
        _ = try call(bus, "org.freedesktop.DBus.Properties.Get", property)
    }

    private static func call(
        _ bus: SessionBus,
        _ method: String,
        _ arguments: [BusValue],
        descriptors: [Int32] = []
    ) throws -> BusAnswer {
        do {
            return try bus.call(
                program,
                path,
                method,
                arguments,
                descriptors: descriptors,
                starts: true
            )
        } catch KeyStoreError.noService {
            throw KeyStoreError.noPortal
        } catch PassingFailure.objectGone {
            // The portal has no backend that keeps secrets.
            throw KeyStoreError.noPortal
        }
    }

    /// Reads what the pipe has.
    ///
    /// - Returns: How many bytes; 0 at the end; `nil` if there are none yet.
    private static func read(
        _ descriptor: Int32,
        _ memory: Slice<UnsafeMutableRawBufferPointer>
    ) throws -> Int? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 1) > 0 else { return nil }
        let memory = UnsafeMutableRawBufferPointer(rebasing: memory)
        let count = Glibc.read(descriptor, memory.baseAddress, memory.count)
        guard count >= 0 || errno == EINTR else {
            throw KeyStoreError.failure(message: systemReason(errno))
        }
        return count < 0 ? nil : count
    }
}
