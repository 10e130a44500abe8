import type { Deployed } from '../chain/deploy/deployBy.ts'
import type * as InitCodes from '../chain/deploy/initCodes.ts'
import { CHAIN_DECISIONS } from './chainDecisions.ts'
import { type Arguments, argument, type CommandGroup, flag, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { facts } from './table.ts'
import { addressOf, checksummed } from './values.ts'

const TIMEOUT_HINT = 'if it is in a block later, its address is that of the transaction'
const VEST_SECONDS = 604_800
const VEST_SECONDS_MAX = 31_536_000

/** A contract that is to be deployed. */
interface Deployment {
  readonly initCode: (codes: typeof InitCodes, deployer: `0x${string}`) => `0x${string}`
  /** The wallet that will send transactions to it. Control manages the nonces of that wallet, so another wallet deploys. */
  readonly sender?: string
  /** Shown with the contract, by name; addresses. */
  readonly roles: (deployer: string) => Readonly<Record<string, string>>
  /** The field of the payments file that names it. */
  readonly field: string
}

/** Deploys by its own key: control counts the nonces of the treasury and the relayers. */
async function deploy(context: CliContext, { initCode, sender, roles, field }: Deployment): Promise<undefined> {
  const { chainRpcUrl, deployerKey } = context
  if (chainRpcUrl === undefined) throw new CommandError('the chain is not known: set CHAIN_RPC_URL')
  if (deployerKey === undefined)
    throw new CommandError('set SLUICE_DEPLOYER_KEY to the private key of a wallet with gas')
  // Loaded when it is needed, because that takes as long as all the rest of a command.
  const [{ privateKeyToAccount }, { deployBy }, codes] = await Promise.all([
    import('viem/accounts'),
    import('../chain/deploy/deployBy.ts'),
    import('../chain/deploy/initCodes.ts'),
  ])
  const account = privateKeyToAccount(deployerKey as `0x${string}`)
  if (account.address.toLowerCase() === sender) {
    throw new CommandError('the sender must be another wallet than the one that deploys: control counts its nonces')
  }
  const code = initCode(codes, account.address)
  const deployed = await deployBy(chainRpcUrl, account, code).catch((error: Error) => {
    throw new CommandError(`nothing was deployed: ${error.message.split('\n')[0]} (${TIMEOUT_HINT})`)
  })
  await show(context, deployed, roles(account.address), field)
}

async function show(
  context: CliContext,
  { address: deployedAt, transaction, block, chainId }: Deployed,
  roles: Readonly<Record<string, string>>,
  field: string,
): Promise<void> {
  const [address = '', ...addresses] = await checksummed([deployedAt, ...Object.values(roles)])
  const shown = Object.keys(roles).map((name, at): [string, string] => [name, addresses[at] ?? ''])
  context.print(
    { address, transaction, block, chain_id: chainId, ...Object.fromEntries(shown) },
    `${facts([
      ['contract', address],
      ['chain', String(chainId)],
      ['transaction', transaction],
      ['block', String(block)],
      ...shown,
    ])}\nfor the payments file:\n${field}: "${address}"`,
  )
}

/** The admin, who may grant the sender role: as stated, else the deploying wallet. */
function adminOf(args: Arguments, deployer: string): `0x${string}` {
  const named = flag(args, 'admin')
  return (named === undefined ? deployer : addressOf(named)) as `0x${string}`
}

function deployAnchor(args: Arguments, context: CliContext): Promise<undefined> {
  const anchorer = addressOf(argument(args, 'ANCHORER')) as `0x${string}`
  return deploy(context, {
    sender: anchorer,
    field: 'settlement_anchor',
    roles: (deployer) => ({ admin: adminOf(args, deployer), anchorer }),
    initCode: (codes, deployer) => codes.anchorInitCode({ admin: adminOf(args, deployer), anchorer }),
  })
}

function deployRewards(args: Arguments, context: CliContext): Promise<undefined> {
  const coin = addressOf(argument(args, 'COIN')) as `0x${string}`
  const publisher = addressOf(argument(args, 'PUBLISHER')) as `0x${string}`
  return deploy(context, {
    sender: publisher,
    field: 'reward_distributor',
    roles: (deployer) => ({ coin, admin: adminOf(args, deployer), publisher }),
    initCode: (codes, deployer) => codes.distributorInitCode({ coin, admin: adminOf(args, deployer), publisher }),
  })
}

function deployVault(args: Arguments, context: CliContext): Promise<undefined> {
  const coin = addressOf(argument(args, 'COIN')) as `0x${string}`
  const vestSeconds = vestSecondsOf(flag(args, 'vest-seconds'))
  const [name, symbol] = [flag(args, 'name') ?? 'Vault shares', flag(args, 'symbol') ?? 'VAULT']
  return deploy(context, {
    field: 'scoin_vault',
    roles: () => ({ coin }),
    initCode: (codes) => codes.vaultInitCode({ coin, name, symbol, vestSeconds }),
  })
}

function deployLocks(args: Arguments, context: CliContext): Promise<undefined> {
  const minter = addressOf(argument(args, 'MINTER')) as `0x${string}`
  return deploy(context, {
    sender: minter,
    field: 'lock_tokens',
    roles: () => ({ minter }),
    initCode: (codes) => codes.lockTokensInitCode(minter),
  })
}

function vestSecondsOf(stated: string | undefined): number {
  const seconds = stated === undefined ? VEST_SECONDS : Number(stated)
  if (Number.isSafeInteger(seconds) && seconds > 0 && seconds <= VEST_SECONDS_MAX) return seconds
  throw new UsageError(`--vest-seconds is a whole number from 1 to ${VEST_SECONDS_MAX}`)
}

const ADMIN = { value: 'ADDRESS', help: 'the address that may name other senders (the deploying wallet)' }

export const CHAIN: CommandGroup = {
  name: 'chain',
  summary: 'contracts and transactions of the gateway on its chain',
  commands: [
    ...CHAIN_DECISIONS,
    {
      synopsis: 'deploy-anchor <ANCHORER>',
      summary: 'Deploys the contract for settlement batches with SLUICE_DEPLOYER_KEY, for the wallet that sends them.',
      flags: { admin: ADMIN },
      run: deployAnchor,
    },
    {
      synopsis: 'deploy-vault <COIN>',
      summary: 'Deploys the vault (ERC-4626) of a coin with SLUICE_DEPLOYER_KEY. It has no owner.',
      flags: {
        'vest-seconds': { value: 'SECONDS', help: `time over which revenue vests (${VEST_SECONDS})` },
        name: { value: 'NAME', help: 'name of its shares' },
        symbol: { value: 'SYMBOL', help: 'symbol of its shares' },
      },
      run: deployVault,
    },
    {
      synopsis: 'deploy-rewards <COIN> <PUBLISHER>',
      summary: "Deploys the contract of holders' rewards with SLUICE_DEPLOYER_KEY, for the wallet that publishes them.",
      flags: { admin: ADMIN },
      run: deployRewards,
    },
    {
      synopsis: 'deploy-locks <MINTER>',
      summary: 'Deploys the tokens (ERC-1155) of compute locks with SLUICE_DEPLOYER_KEY; the treasury is their minter.',
      run: deployLocks,
    },
  ],
}
