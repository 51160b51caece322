import Foundation
import MigrationKitCommon
import MigrationKitRescue
import MigrationKitSQLCipher

/// What `salvage` prints as JSON.
struct SalvageDocument: Encodable {
    struct Page: Encodable {
        let page: Int
        let problem: String
        let use: String
        let name: String?
    }

    struct Gap: Encodable {
        let page: Int?
        let after: Int64?
        let through: Int64?
        let mostRows: Int?
    }

    struct Table: Encodable {
        let name: String
        let rows: Int
        let lostRows: Int
        let refusedRows: Int
        let mostLostRows: Int?
        let gaps: [Gap]
    }

    struct LostAndFound: Encodable {
        let table: String
        let rows: Int
        let lostRows: Int
    }

    struct Journal: Encodable {
        let kind: String
        let frames: Int
        let damagedFrames: [Int]
    }

    struct Unmade: Encodable {
        let type: String
        let name: String
        let reason: String
    }

    let schemaVersion = JSON.schemaVersion
    let database: String
    let output: String
    let complete: Bool
    let schemaWhole: Bool
    let salt: String
    let proven: Bool
    let pageSize: Int
    let pages: Int
    let missingPages: Int
    let damagedPages: [Page]
    let journal: Journal?
    let rows: Int
    let tables: [Table]
    let lostAndFound: LostAndFound?
    let unmade: [Unmade]
    let seconds: Double

    init(database: String, _ report: SalvageReport) {
        self.database = database
        output = report.outputPath
        complete = report.isComplete
        schemaWhole = report.isSchemaWhole
        salt = report.salt.rawValue
        proven = report.provesPages
        pageSize = report.pageSize
        pages = report.pageCount
        missingPages = report.missingPageCount
        damagedPages = report.damagedPages.map { page in
            let (use, name) = page.use.named
            return Page(page: page.number, problem: page.problem.rawValue, use: use, name: name)
        }
        journal = report.journal.map {
            Journal(
                kind: $0.kind.rawValue,
                frames: $0.frameCount,
                damagedFrames: $0.damagedFrames
            )
        }
        rows = report.rowCount
        tables = report.tables.map { table in
            Table(
                name: table.name,
                rows: table.rowCount,
                lostRows: table.lostRowCount,
                refusedRows: table.refusedRowCount,
                mostLostRows: table.mostLostRows,
                gaps: table.gaps.map {
                    Gap(
                        page: $0.page,
                        after: $0.after,
                        through: $0.through,
                        mostRows: $0.mostRows
                    )
                }
            )
        }
        lostAndFound = report.lostAndFound.map {
            LostAndFound(table: $0.table, rows: $0.rowCount, lostRows: $0.lostRowCount)
        }
        unmade = report.unmade.map { Unmade(type: $0.type, name: $0.name, reason: $0.reason) }
        seconds = report.seconds
    }
}

extension SalvageReport.DamagedPage.Use {
    /// What a page is for, and the name of the table or index that it belongs to.
    var named: (use: String, name: String?) {
        switch self {
        case .table(let name): ("table", name)
        case .index(let name): ("index", name)
        case .schema: ("schema", nil)
        case .free: ("free", nil)
        case .pointerMap: ("pointerMap", nil)
        case .unknown: ("unknown", nil)
        }
    }
}

/// A salvage has finished, but couldn't recover everything.
struct SalvageLoss: Error, LocalizedError {
    let path: String

    var errorDescription: String? { "not everything in \(path) was recovered" }

    var recoverySuggestion: String? {
        "The report on standard output lists what is lost. Keep the damaged file. A backup may have what is missing."
    }
}

extension SalvageLoss: CodedError {
    var code: ErrorCode { ErrorCode("incomplete", .verificationFailed) }
}
