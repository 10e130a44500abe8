// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Signatures} from "./Signatures.sol";

/// A contract wallet whose signatures are those of its owner (ERC-1271).
contract Wallet {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 digest, bytes memory signature) external view returns (bytes4) {
        return Signatures.isValid(owner, digest, signature) ? this.isValidSignature.selector : bytes4(0xffffffff);
    }

    function call(address target, bytes calldata data) external {
        require(msg.sender == owner, "only the owner");
        (bool ok,) = target.call(data);
        require(ok, "call failed");
    }
}
