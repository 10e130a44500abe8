// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";

/// Settlement batches of a gateway. Each says what its usage logs were at a moment, and contains the one before: a batch that
/// is anchored stays as it is, whoever has which role. Amounts are units of 1e-9 USD.
contract SettlementAnchor is AccessControl {
    bytes32 public constant ANCHORER_ROLE = keccak256("ANCHORER_ROLE");

    struct Batch {
        /// Entries of the log of heads, and their RFC 6962 root: the checkpoint that the gateway has signed.
        uint64 treeSize;
        /// Receipts in all usage logs before this batch, and with it.
        uint64 receiptsFrom;
        uint64 receiptsTo;
        bytes32 root;
        /// SHA-256 of the statement, which has charges and reserve by asset.
        bytes32 statement;
        /// What those receipts were charged, what the treasury holds, and what it owes.
        uint128 chargedUnits;
        uint128 heldUnits;
        uint128 owedUnits;
    }

    /// The number of the last batch; 0 before the first.
    uint256 public lastNumber;
    mapping(uint256 number => Batch) private _batches;
    mapping(uint256 number => uint256) private _times;

    event Anchored(
        uint256 indexed number,
        uint64 treeSize,
        uint64 receiptsFrom,
        uint64 receiptsTo,
        bytes32 root,
        bytes32 statement,
        uint128 chargedUnits,
        uint128 heldUnits,
        uint128 owedUnits
    );

    error WrongNumber(uint256 number, uint256 lastNumber);
    error NotGrown(uint64 treeSize, uint64 lastTreeSize);
    error WrongReceipts(uint64 receiptsFrom, uint64 receiptsTo, uint64 lastReceiptsTo);
    error UnknownBatch(uint256 number);

    /// @param admin may give and take roles
    /// @param anchorer may anchor batches
    constructor(address admin, address anchorer) {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(ANCHORER_ROLE, anchorer);
    }

    /// Anchors the batch after the last one. The first may have any number, as another contract may have those before.
    function anchor(uint256 number, Batch calldata content) external onlyRole(ANCHORER_ROLE) {
        Batch storage last = _batches[lastNumber];
        if (number == 0 || (lastNumber != 0 && number != lastNumber + 1)) revert WrongNumber(number, lastNumber);
        if (content.treeSize <= last.treeSize) revert NotGrown(content.treeSize, last.treeSize);
        if (content.receiptsFrom < last.receiptsTo || content.receiptsTo < content.receiptsFrom) {
            revert WrongReceipts(content.receiptsFrom, content.receiptsTo, last.receiptsTo);
        }
        lastNumber = number;
        _batches[number] = content;
        _times[number] = block.timestamp;
        emit Anchored(
            number,
            content.treeSize,
            content.receiptsFrom,
            content.receiptsTo,
            content.root,
            content.statement,
            content.chargedUnits,
            content.heldUnits,
            content.owedUnits
        );
    }

    /// A batch, and when it was anchored in seconds since 1970.
    function batch(uint256 number) external view returns (Batch memory content, uint256 anchoredAt) {
        anchoredAt = _times[number];
        if (anchoredAt == 0) revert UnknownBatch(number);
        content = _batches[number];
    }
}
