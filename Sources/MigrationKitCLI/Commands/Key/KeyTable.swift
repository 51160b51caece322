import Foundation
import KeyStore

/// Items for people: a line each with what tells them apart, and what else is known below it.
enum KeyTable {
    private static let width = 80
    private static let widest = (service: 26, account: 14)

    static func text(of items: [KeyItem]) -> String {
        let services = items.map { $0.service.printable.cut(to: widest.service) }
        let accounts = items.map { ($0.account ?? "-").printable.cut(to: widest.account) }
        let serviceWidth = max(7, services.map(\.count).max() ?? 0)
        let accountWidth = max(7, accounts.map(\.count).max() ?? 0)

        func line(_ cells: String...) -> String {
            let widths = [serviceWidth, accountWidth, 10, 10]
            let padded = zip(cells, widths).map { $0.padded(to: $1) } + cells.dropFirst(4)
            return padded.joined(separator: "  ").trimmingTrailingSpaces()
        }
        var lines = [line("SERVICE", "ACCOUNT", "FORM", "CREATED", "CHANGED")]
        for (index, item) in items.enumerated() {
            lines.append(
                line(
                    services[index],
                    accounts[index],
                    item.isLocked ? "locked" : item.form?.rawValue ?? "-",
                    day(item.created),
                    day(item.modified)
                )
            )
            lines += details(of: item).wrapped(to: width - 2).map { "  \($0)" }
        }
        return lines.joined(separator: "\n")
    }

    /// Label, collection, and the attributes that the columns don't show whole.
    private static func details(of item: KeyItem) -> [String] {
        var attributes = item.attributes
        attributes["migrationkit:form"] = nil
        // What nearly every item has tells none from another.
        if attributes["xdg:schema"] == "org.freedesktop.Secret.Generic" {
            attributes["xdg:schema"] = nil
        }
        if item.service.count <= widest.service { attributes["service"] = nil }
        if (item.account ?? "").count <= widest.account {
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
    /// The item in one line, for a sentence.
    var summaryLine: String {
        let account = account.map { ", username \"\($0)\"" } ?? ""
        return "service \"\(service)\"\(account), in \(collection)".printable
    }
}

extension [String] {
    /// The words in lines of at most a width, where they fit it.
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
