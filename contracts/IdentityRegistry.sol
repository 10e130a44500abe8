// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Signatures} from "./Signatures.sol";

/// The part of an ERC-8004 identity registry that a payment gateway reads, and what is needed to fill it.
contract IdentityRegistry {
    uint256 private _next;
    mapping(uint256 => address) private _owners;
    mapping(uint256 => address) private _wallets;

    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);

    error ERC721NonexistentToken(uint256 tokenId);

    function register() external returns (uint256 agentId) {
        agentId = _next++;
        _owners[agentId] = msg.sender;
        _wallets[agentId] = msg.sender;
        emit Registered(agentId, "", msg.sender);
    }

    function ownerOf(uint256 agentId) public view returns (address owner) {
        owner = _owners[agentId];
        if (owner == address(0)) revert ERC721NonexistentToken(agentId);
    }

    function getAgentWallet(uint256 agentId) external view returns (address) {
        return _wallets[agentId];
    }

    function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes calldata signature) external {
        address owner = ownerOf(agentId);
        require(msg.sender == owner, "not the owner");
        require(block.timestamp <= deadline && deadline <= block.timestamp + 5 minutes, "deadline");
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("ERC8004IdentityRegistry"),
                keccak256("1"),
                block.chainid,
                address(this)
            )
        );
        bytes32 content = keccak256(
            abi.encode(
                keccak256("AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)"),
                agentId,
                newWallet,
                owner,
                deadline
            )
        );
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", domain, content));
        require(Signatures.isValid(newWallet, digest, signature), "signature");
        _wallets[agentId] = newWallet;
    }

    function transferFrom(address from, address to, uint256 agentId) external {
        require(ownerOf(agentId) == from && msg.sender == from, "not the owner");
        _owners[agentId] = to;
        delete _wallets[agentId];
    }
}
