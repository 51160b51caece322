import MigrationKitSQLCipher

extension DatabaseConversionError: Classified {
    var classification: (code: String, exitCode: Int32) {
        switch self {
        case .notPlaintext: ("notPlaintext", 77)
        case .alreadyCurrent: ("alreadyCurrent", 64)
        case .inUse: ("inUse", 75)
        case .openHere: ("inUse", 75)
        case .busy: ("locked", 75)
        case .cannotLock: ("cannotLock", 77)
        case .otherOwner: ("otherOwner", 77)
        case .replacedMeanwhile: ("replacedMeanwhile", 75)
        case .changedMeanwhile: ("changedMeanwhile", 75)
        case .sameFile: ("sameFile", 64)
        case .exists: ("exists", 73)
        case .reservedName: ("reservedName", 73)
        case .nameTooLong: ("nameTooLong", 73)
        case .cannotWrite: ("cannotWrite", 73)
        case .notEnoughRoom: ("diskFull", 74)
        case .notSynced: ("notSynced", 74)
        case .copyDiffers: ("copyDiffers", 2)
        case .copyIsDamaged: ("copyIsDamaged", 2)
        }
    }
}
