/// A report of tests in the XML of JUnit, as GitLab, Jenkins and others read it.
/// <https://docs.gitlab.com/ci/testing/unit_test_reports/>
struct JUnit {
    enum Outcome {
        case passed
        case skipped(String)
        case failed(String, text: String)
    }

    struct Case {
        let name: String
        /// What reports group cases by.
        let group: String
        let file: String?
        let line: Int?
        let outcome: Outcome
    }

    let name: String
    let cases: [Case]

    var text: String {
        func count(_ isCounted: (Outcome) -> Bool) -> Int { cases.count { isCounted($0.outcome) } }
        let failures = count { if case .failed = $0 { true } else { false } }
        let skipped = count { if case .skipped = $0 { true } else { false } }
        let counts = """
            tests="\(cases.count)" failures="\(failures)" skipped="\(skipped)" errors="0"
            """
        return
            ([
                #"<?xml version="1.0" encoding="UTF-8"?>"#, "<testsuites \(counts)>",
                "  <testsuite name=\(Self.quoted(name)) \(counts)>",
            ]
            + cases.map(Self.text) + ["  </testsuite>", "</testsuites>"]).joined(separator: "\n")
    }

    private static func text(of test: Case) -> String {
        let file = test.file.map { " file=\(quoted($0))" } ?? ""
        let line = test.line.map { " line=\"\($0)\"" } ?? ""
        let start =
            "    <testcase name=\(quoted(test.name)) classname=\(quoted(test.group))\(file)\(line)"
        let content: String
        switch test.outcome {
        case .passed: return start + "/>"
        case .skipped(let reason): content = "<skipped message=\(quoted(reason))/>"
        case .failed(let message, let text):
            let place = test.file.map { "\($0)\(test.line.map { ":\($0)" } ?? "")\n" } ?? ""
            content = "<failure message=\(quoted(message))>\(escaped(place + text))</failure>"
        }
        return "\(start)>\n      \(content)\n    </testcase>"
    }

    private static func quoted(_ text: String) -> String {
        "\"\(escaped(text, also: ["\"": "&quot;", "\n": "&#10;", "\t": "&#9;"]))\""
    }

    /// Characters that XML doesn't have become U+FFFD. <https://www.w3.org/TR/xml/#charsets>
    private static func escaped(
        _ text: String,
        also others: [Unicode.Scalar: String] = [:]
    ) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case _ where others[scalar] != nil: others[scalar] ?? ""
            case "\n", "\t": String(scalar)
            case "\0"..<" ", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": "\u{FFFD}"
            default: String(scalar)
            }
        }.joined()
    }
}
