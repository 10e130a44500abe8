// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

/// Tokens of compute locks that were withdrawn from a gateway. A token id is a series; 1,000,000 of its smallest units are one
/// whole token. From the end of its series on, a token is burnt: balances and supply read zero, and nothing can be minted, moved
/// or redeemed any more. The minter mints; it has no way to move, burn or freeze tokens of others, nor to change an end.
contract LockTokens is ERC1155 {
    address public immutable minter;
    /// When each series ends, in seconds since 1970; 0 before its first mint, and fixed by it.
    mapping(uint256 id => uint256) public endsAt;
    /// The withdrawals that were minted.
    mapping(bytes32 withdrawal => bool) public isMinted;
    mapping(uint256 id => uint256) private _supplies;

    event Minted(bytes32 indexed withdrawal, uint256 indexed id, address indexed to, uint256 amount);
    event Redeemed(uint256 indexed id, address indexed holder, bytes32 indexed account, uint256 amount);

    error NotMinter(address caller);
    error AlreadyMinted(bytes32 withdrawal);
    error WrongEnd(uint256 id, uint256 endsAt);
    error Ended(uint256 id);
    error NoAmount();

    /// @param minter_ the treasury of the gateway
    constructor(address minter_) ERC1155("") {
        minter = minter_;
    }

    /// Mints the tokens of a withdrawal, once. The first mint of a series fixes its end.
    function mint(address to, uint256 id, uint256 amount, uint256 end, bytes32 withdrawal) external {
        if (msg.sender != minter) revert NotMinter(msg.sender);
        if (isMinted[withdrawal]) revert AlreadyMinted(withdrawal);
        if (amount == 0) revert NoAmount();
        if (endsAt[id] == 0) endsAt[id] = end;
        else if (endsAt[id] != end) revert WrongEnd(id, endsAt[id]);
        isMinted[withdrawal] = true;
        emit Minted(withdrawal, id, to, amount);
        _mint(to, id, amount, "");
    }

    /// Burns tokens of the caller, which the gateway credits to the account that the caller's wallet is linked to.
    /// @param account a note for the operator about a wallet that is linked to none; may be zero
    function redeem(uint256 id, uint256 amount, bytes32 account) external {
        if (amount == 0) revert NoAmount();
        _burn(msg.sender, id, amount);
        emit Redeemed(id, msg.sender, account, amount);
    }

    /// Whether the tokens of a series are burnt.
    function hasEnded(uint256 id) public view returns (bool) {
        return endsAt[id] != 0 && block.timestamp >= endsAt[id];
    }

    /// Zero from the end of the series on.
    function balanceOf(address account, uint256 id) public view override returns (uint256) {
        return hasEnded(id) ? 0 : super.balanceOf(account, id);
    }

    /// What is minted and not redeemed; zero from the end of the series on.
    function totalSupply(uint256 id) external view returns (uint256) {
        return hasEnded(id) ? 0 : _supplies[id];
    }

    function _update(address from, address to, uint256[] memory ids, uint256[] memory values) internal override {
        for (uint256 i = 0; i < ids.length; i++) {
            if (hasEnded(ids[i])) revert Ended(ids[i]);
            if (from == address(0)) _supplies[ids[i]] += values[i];
            if (to == address(0)) _supplies[ids[i]] -= values[i];
        }
        super._update(from, to, ids, values);
    }
}
