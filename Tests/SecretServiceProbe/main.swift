// Calls SecretServiceKeyStore the way a program would, for tests that need a process of its own:
// GLib reads the bus's address once, and keeps the connection.
//
//   SecretServiceProbe items [SERVICE [ACCOUNT]]
//   SecretServiceProbe entry SERVICE [ACCOUNT]     the secret, as it would be used, in hexadecimal
//   SecretServiceProbe store SERVICE ACCOUNT passphrase|raw-key    the secret on standard input
//   SecretServiceProbe replace SERVICE ACCOUNT passphrase|raw-key
//   SecretServiceProbe delete SERVICE [ACCOUNT]
//   SecretServiceProbe twice SERVICE               waits for a line between two look-ups
//   SecretServiceProbe rounds SERVICE COUNT        replaces and looks up a passphrase as often
//
//   SecretServiceProbe contents                    everything that can be read
//   SecretServiceProbe kind                        the key store's type
//
// PROBE_DESKTOP makes it the store that the session has. PROBE_COLLECTION, PROBE_TIMEOUT, PROBE_QUESTION_TIMEOUT (milliseconds) and PROBE_NO_PROMPT are the store's settings;
// look-ups are cancelled after PROBE_CANCEL_AFTER (milliseconds). What went wrong is the first line of standard output, as the error's case, with status 1.

import Foundation
import MigrationKitKeys
import SecretService

let variables = ProcessInfo.processInfo.environment
let timeout = Duration.milliseconds(variables["PROBE_TIMEOUT"].flatMap(Int.init) ?? 20000)
var store: any KeyStore =
    variables["PROBE_DESKTOP"] == nil
    ? SecretServiceKeyStore(
        collection: variables["PROBE_COLLECTION"],
        timeout: timeout,
        questionTimeout: variables["PROBE_QUESTION_TIMEOUT"].flatMap(Int.init).map {
            .milliseconds($0)
        },
        allowsPrompt: variables["PROBE_NO_PROMPT"] == nil
    ) : DesktopKeyStore.current(timeout: timeout)
if let delay = variables["PROBE_CANCEL_AFTER"].flatMap(Int.init),
    let interruptible = store as? any InterruptibleKeyStore
{
    let end = ContinuousClock.now + .milliseconds(delay)
    store = interruptible.endingLookUps { .now >= end }
}
let arguments = Array(CommandLine.arguments.dropFirst())

func argument(_ index: Int) -> String? {
    index < arguments.count ? arguments[index] : nil
}

func show(_ item: KeyItem) {
    print(
        item.service,
        item.account ?? "-",
        item.form?.rawValue ?? "-",
        item.collection,
        item.isLocked ? "locked" : "open",
        item.created == nil ? "undated" : "dated",
        item.label
    )
}

do {
    let resolver = KeyResolver { [store] in store }
    let (service, account) = (argument(1) ?? "", argument(2))
    switch argument(0) {
    case "items":
        for item in try store.items(service: argument(1), account: account) { show(item) }
    case "entry":
        let source = KeySource.keyStore(service: service, account: account)
        let key = try resolver.key(from: source, form: .passphrase)
        let digits = key.hexadecimal().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        print(key.form.rawValue, digits)
        show(try store.entry(service: service, account: account).item)
    case "store", "replace":
        let key = try resolver.key(
            from: .standardInput,
            form: DatabaseKey.Form(rawValue: argument(3) ?? "") ?? .passphrase
        )
        try store.store(
            key,
            service: service,
            account: account ?? "",
            label: nil,
            replacing: argument(0) == "replace"
        )
    case "delete":
        show(try store.delete(service: service, account: account))
    case "twice":
        for _ in 0..<2 {
            do {
                show(try store.entry(service: service, account: account).item)
            } catch {
                print(error)
            }
            fflush(nil)
            _ = readLine()
        }
    case "rounds":
        for round in 0..<(account.flatMap(Int.init) ?? 0) {
            let key = try DatabaseKey(Secret(utf8: "passphrase \(round)"), form: .passphrase)
            try store.store(key, service: service, account: "u", label: nil, replacing: true)
            guard try store.key(service: service, account: "u") == key else { exit(65) }
        }
    case "contents":
        for entry in try store.contents(unlocking: false).entries { show(entry.item) }
    case "kind": print(type(of: store))
    default:
        print("unknown command")
        exit(64)
    }
} catch {
    print(error)
    exit(1)
}
