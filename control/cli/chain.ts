import { type Arguments, argument, type CommandGroup, flag } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { facts } from './table.ts'
import { addressOf, checksummed } from './values.ts'

const TIMEOUT_HINT = 'if it is in a block later, its address is that of the transaction'

/** Deploys by a key of its own: control counts the nonces of the treasury and the relayers. */
async function deployAnchor(args: Arguments, context: CliContext): Promise<undefined> {
  const anchorer = addressOf(argument(args, 'ANCHORER'))
  const { chainRpcUrl, deployerKey } = context
  if (chainRpcUrl === undefined) throw new CommandError('the chain is not known: set CHAIN_RPC_URL')
  if (deployerKey === undefined)
    throw new CommandError('set SLUICE_DEPLOYER_KEY to the private key of a wallet with gas')
  // Loaded when it is needed, because that takes as long as all the rest of a command.
  const [{ privateKeyToAccount }, launch] = await Promise.all([
    import('viem/accounts'),
    import('../launch/chain/deployAnchor.ts'),
  ])
  const account = privateKeyToAccount(deployerKey as `0x${string}`)
  if (account.address.toLowerCase() === anchorer) {
    throw new CommandError('the anchorer must be another wallet than the one that deploys: control counts its nonces')
  }
  const named = flag(args, 'admin')
  const admin = named === undefined ? account.address : addressOf(named)
  const roles = { admin: admin as `0x${string}`, anchorer: anchorer as `0x${string}` }
  const deployed = await launch.deployAnchor(chainRpcUrl, account, roles).catch((error: Error) => {
    throw new CommandError(`nothing was deployed: ${error.message.split('\n')[0]} (${TIMEOUT_HINT})`)
  })
  const [address = '', adminShown = '', anchorerShown = ''] = await checksummed([deployed.address, admin, anchorer])
  const { transaction, block, chainId } = deployed
  context.print(
    { address, transaction, block, chain_id: chainId, admin: adminShown, anchorer: anchorerShown },
    `${facts([
      ['contract', address],
      ['chain', String(chainId)],
      ['transaction', transaction],
      ['block', String(block)],
      ['admin', adminShown],
      ['anchorer', anchorerShown],
    ])}\nfor the payments file:\nsettlement_anchor: "${address}"`,
  )
}

export const CHAIN: CommandGroup = {
  name: 'chain',
  summary: 'contracts of the gateway on its chain',
  commands: [
    {
      synopsis: 'deploy-anchor <ANCHORER>',
      summary: 'Deploys the contract for settlement batches with SLUICE_DEPLOYER_KEY, for the wallet that sends them.',
      flags: {
        admin: { value: 'ADDRESS', help: 'who may name other anchorers (the deploying wallet)' },
      },
      run: deployAnchor,
    },
  ],
}
