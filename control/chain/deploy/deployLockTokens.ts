import { type Address, encodeDeployData, type Hex, parseAbi } from 'viem'
import { contractCode } from './contractCodes.ts'

const CONSTRUCTOR = parseAbi(['constructor(address minter)'])

/** The init code of a LockTokens contract. @param minter the treasury, which alone can mint */
export function lockTokensInitCode(minter: Address): Hex {
  return encodeDeployData({ abi: CONSTRUCTOR, bytecode: contractCode('LockTokens'), args: [minter] })
}
