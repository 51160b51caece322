import Foundation
import MigrationKitCommon
import MigrationKitRescue
import MigrationKitSQLCipher

/// What `salvage` prints for people.
struct SalvageText {
    /// How many pages and gaps are listed one by one.
    private static let mostLines = 40
    private let report: SalvageReport
    private let database: String
    private let width: Int

    /// - Parameter width: The columns of a line.
    init(_ report: SalvageReport, database: String, width: Int) {
        self.report = report
        self.database = database
        self.width = width
    }

    var text: String {
        [summary, damage, tables, gaps, unmade, wayBack].filter { !$0.isEmpty }.map {
            $0.joined(separator: "\n")
        }.joined(separator: "\n\n")
    }

    private var summary: [String] {
        let rows = counted(report.rowCount, "row")
        let tables = counted(report.tables.count, "table")
        var lines = wrapped(
            """
            Salvaged \(database.printable) into \(report.outputPath.printable): \(tables) with \
            \(rows), in \(duration(report.seconds)).
            """
        )
        lines.append(
            report.isComplete
                ? "Everything was recovered. The new file's structure is sound."
                : "Not everything was recovered. The new file's structure is sound."
        )
        return lines
    }

    // MARK: - Damage

    private var damage: [String] {
        var lines: [String] = []
        switch report.salt {
        case .intact: break
        case .repaired:
            let text =
                switch report.saltSource {
                case nil: "One bit of the salt was wrong, and was corrected."
                case .writeAheadLog: "The salt is damaged. The write-ahead log has it."
                case .rollback: "The salt is damaged. The rollback journal has it."
                }
            lines.append(text)
        case .lost:
            lines += wrapped(
                "The salt is lost. The raw key decrypts the pages, but they can't be authenticated."
            )
        }
        if !report.provesPages, report.salt != .lost {
            lines += wrapped(
                "Without HMAC, pages can't be authenticated: damage that looks like content goes unnoticed."
            )
        }
        if let journal = report.journal { lines += wrapped(Self.describe(journal)) }
        if !report.isSchemaWhole {
            lines += wrapped(
                report.damagedPages.first?.number == 1
                    ? """
                    Page 1 is damaged: the user version, the application id and other settings \
                    are lost, and perhaps tables.
                    """
                    : "The schema is damaged: tables may be lost."
            )
        }
        if let reason = report.unnamedReason {
            lines += wrapped("The migrations can't tell the tables' names: \(reason.printable)")
        }
        if !report.namedTables.isEmpty {
            let names = report.namedTables.map(\.printable).joined(separator: ", ")
            lines += wrapped("Named by the migrations: \(names).")
        }
        if let count = report.wrongPageCount {
            lines += wrapped(
                """
                The number of pages in the database's header, \(count), is wrong: it has \
                \(report.pageCount).
                """
            )
        }
        let missing = report.missingPageCount
        if missing > 0 {
            lines.append(
                "The file was truncated: the last \(missing == 1 ? "page is" : "\(missing) pages are") missing."
            )
        }
        // The first page is reported separately.
        let pages = report.damagedPages.filter {
            $0.problem != .missing && $0.numbers.upperBound > 1
        }
        for page in pages.prefix(Self.mostLines) { lines += wrapped(Self.describe(page)) }
        let rest = pages.dropFirst(Self.mostLines).reduce(0) { $0 + $1.numbers.count }
        if rest > 0 { lines.append("And \(rest) more damaged pages.") }
        return lines
    }

    private static func describe(_ journal: SalvageReport.Journal) -> String {
        var counts = ""
        if let with = journal.rowCountWith, let without = journal.rowCountWithout, with != without {
            counts = " With it, the tables have \(with) rows; without it, \(without)."
            if journal.leftOut == nil, with < without {
                counts += " For those, salvage a copy of the file without it."
            }
        }
        if let reason = journal.leftOut {
            let name = journal.kind == .rollback ? "rollback journal" : "write-ahead log"
            return "The \(name) was left out: \(describe(reason)).\(counts)"
        }
        return describePages(journal) + counts
    }

    private static func describe(_ reason: SalvageReport.Journal.Reason) -> String {
        switch reason {
        case .otherKey: "it was written under another key or salt, or is damaged"
        case .otherTime: "it is of another time than the file"
        case .damaged: "it is damaged, and the file without it is sound"
        case .contradicts: "its pages contradict those of the file"
        }
    }

    private static func describePages(_ journal: SalvageReport.Journal) -> String {
        switch journal.kind {
        case .rollback:
            let broken = journal.damagedFrames.count
            return
                "An unfinished change was undone with \(journal.frameCount) pages of the rollback journal"
                + (broken > 0 ? ", \(broken) of them damaged." : ".")
        case .writeAheadLog:
            let frames = journal.damagedFrames.filter { $0 > 0 }
            return "The write-ahead log gave \(journal.frameCount - frames.count) of "
                + "\(journal.frameCount) frames"
                + (frames.isEmpty
                    ? "." : "; damaged: \(shortList(frames.prefix(20), of: frames.count)).")
                + (journal.damagedFrames.contains(0) ? " Its header is damaged." : "")
        }
    }

    private static func describe(_ page: SalvageReport.DamagedPage) -> String {
        let use =
            switch page.use {
            case .table(let name): "of the table \(name.printable)"
            case .index(let name): "of the index \(name.printable), which was rebuilt"
            case .schema: "of the schema"
            case .free: "which is free"
            case .pointerMap: "a pointer map, which was rebuilt"
            case .unknown: "of unknown use"
            }
        let age = page.problem == .older ? " in its newest version (an older one was read)" : ""
        guard page.numbers.count == 1 else {
            let (first, last) = (page.numbers.lowerBound, page.numbers.upperBound)
            return "Pages \(first) to \(last) are damaged\(age), \(use)."
        }
        return "Page \(page.number) is damaged\(age), \(use)."
    }

    // MARK: - Tables

    private var tables: [String] {
        guard !report.tables.isEmpty || report.lostAndFound != nil else { return [] }
        var rows = report.tables.map { table in
            [
                "\(table.rowCount)", lost(table), "\(table.refusedRowCount)",
                table.name.printable,
            ]
        }
        if let found = report.lostAndFound {
            rows.append(["\(found.rowCount)", "\(found.lostRowCount)", "0", found.table])
        }
        return [table(["ROWS", "LOST", "REFUSED", "TABLE"], rows)]
    }

    private func lost(_ table: SalvageReport.Table) -> String {
        guard !table.gaps.isEmpty else { return "\(table.lostRowCount)" }
        guard let most = table.mostLostRows else { return "\(table.lostRowCount) or more" }
        return "\(table.lostRowCount) to \(most)"
    }

    private var gaps: [String] {
        let all = report.tables.flatMap { table in table.gaps.map { (table.name, $0) } }
        var lines = all.prefix(Self.mostLines).flatMap { name, gap in
            wrapped("Missing in \(name.printable): \(Self.describe(gap)).")
        }
        if all.count > Self.mostLines {
            lines.append("And \(all.count - Self.mostLines) more places.")
        }
        if report.tables.contains(where: { $0.refusedRowCount > 0 }),
            let found = report.lostAndFound
        {
            lines.append("Rows that a table refused are in \(found.table).")
        }
        return lines
    }

    private static func describe(_ gap: SalvageReport.Gap) -> String {
        let place = gap.page.map { "of page \($0)" } ?? "of an unknown page"
        let rows =
            switch (gap.after, gap.through) {
            case (let after?, let through?): "rowids from \(after &+ 1) to \(through), \(place)"
            case (let after?, nil): "rowids from \(after &+ 1) on, \(place)"
            case (nil, let through?): "rowids up to \(through), \(place)"
            case (nil, nil): "rows \(place)"
            }
        return rows + (gap.mostRows.map { ", \($0) at most" } ?? "")
    }

    private var unmade: [String] {
        report.unmade.flatMap {
            wrapped(
                "Could not create the \($0.type) \($0.name.printable): \($0.reason.printable)."
            )
        }
    }

    /// The commands that lead back to a database in its place.
    private var wayBack: [String] {
        guard !report.isComplete else { return [] }
        let new = report.outputPath.shellWord
        var commands = ["verify --full \(new)"]
        if !report.tables.contains(where: { $0.name == "grdb_migrations" }) {
            commands.append("baseline <last migration> --db-path \(new)")
        }
        let (place, kept) = (database.shellWord, (database + ".damaged").shellWord)
        commands.append("restore --from \(new) --db-path \(place) --keep-original \(kept)")
        return ["To go on with the new file, after a look at it:"]
            + commands.map { "    \(Program.name) \($0)" }
    }

    private func wrapped(_ text: String) -> [String] { text[...].wrapped(to: width) }
}
