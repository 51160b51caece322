import Foundation
import MigrationKitKeys
import MigrationKitSQLCipher

// MARK: - Key Table

/// A list of items as text: one line for each with what distinguishes it, and the rest below it.
struct KeyTable {
    /// How many columns there are.
    let width: Int

    func text(of items: [KeyItem]) -> String {
        let widest = widths(of: items)
        let services = items.map { $0.service.printable.cut(to: widest.service) }
        let accounts = items.map { ($0.account ?? "-").printable.cut(to: widest.account) }
        let rows = items.indices.map { index in
            let item = items[index]
            return [
                services[index], accounts[index],
                item.isLocked ? "locked" : item.form?.rawValue ?? "-", Self.day(item.created),
                Self.day(item.modified),
            ]
        }
        let heading = ["SERVICE", "ACCOUNT", "FORM", "CREATED", "CHANGED"]
        let lines = table(heading, rows, least: [0, 0, 10, 10]).split(separator: "\n")
        let details = items.map { item in
            // Only the identifier may distinguish items of the same service and account.
            let others =
                items.count { $0.service == item.service && $0.account == item.account } - 1
            let words =
                Self.details(of: item, widest) + (others > 0 ? ["item \(item.identifier)"] : [])
            return words.wrapped(to: width - 2).map { "  \($0)" }
        }
        return zip(lines, [[]] + details).flatMap { [String($0)] + $1 }.joined(separator: "\n")
    }

    /// The width of the first two columns. If there isn't enough room for both, the account's
    /// column gets at most a third of it.
    private func widths(of items: [KeyItem]) -> (service: Int, account: Int) {
        let service = items.map(\.service.printable.count).max() ?? 0
        let account = items.map { ($0.account ?? "-").printable.count }.max() ?? 0
        // FORM, CREATED and CHANGED have ten characters each, and two spaces before each column.
        let room = max(width, 60) - 3 * 10 - 4 * 2
        guard service + account > room else { return (service, account) }
        let cutAccount = min(account, max(room / 3, room - service))
        return (room - cutAccount, cutAccount)
    }

    /// The label, the collection, and the attributes that the columns don't show in full.
    private static func details(
        of item: KeyItem,
        _ widest: (service: Int, account: Int)
    ) -> [String] {
        var attributes = item.attributes
        attributes[KeyItem.formAttribute] = nil
        // Attributes that nearly every item has don't distinguish items.
        if attributes["xdg:schema"] == "org.freedesktop.Secret.Generic" {
            attributes["xdg:schema"] = nil
        }
        if item.service.printable.count <= widest.service { attributes["service"] = nil }
        if (item.account ?? "").printable.count <= widest.account {
            for name in ["username", "account"] where attributes[name] == item.account {
                attributes[name] = nil
            }
        }
        let shown = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\"\($0.value)\"" }
        return (["\"\(item.label)\" in \(item.collection)"] + shown).map(\.printable)
    }

    private static func day(_ date: Date?) -> String {
        guard let date else { return "-" }
        return date.formatted(.iso8601.year().month().day())
    }
}

extension KeyItem {
    /// The item as part of a sentence.
    var summaryLine: String {
        let account = account.map { ", username \"\($0)\"" } ?? ""
        return "service \"\(service)\"\(account), in \(collection)".printable
    }
}

extension [String] {
    /// Wraps the words at a width, if each of them fits.
    fileprivate func wrapped(to width: Int) -> [String] {
        var lines: [String] = []
        for word in self {
            if let line = lines.last, line.count + 2 + word.count <= width {
                lines[lines.endIndex - 1] = "\(line), \(word)"
            } else {
                lines.append(word)
            }
        }
        return lines
    }
}

extension String {
    fileprivate func cut(to width: Int) -> String {
        count <= width ? self : prefix(width - 1) + "…"
    }
}
