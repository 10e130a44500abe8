import { getAddress } from 'viem/utils'
import { GATEWAY_VERSION } from '../../contract/api/version.ts'
import { formatUsd } from '../../contract/money/units.ts'
import type { Address } from '../../contract/payments/address.ts'
import { PERMIT2_ADDRESS } from '../../contract/payments/addresses.ts'
import type { NoteKey } from '../book/checkpoint/noteKey.ts'
import { bookPrice } from '../catalog/pricing/coinAmounts.ts'
import { latestSheet } from '../catalog/pricing/sheetStore.ts'
import type { PaymentsConfig } from '../chain/paymentsConfig.ts'
import type { Queryable } from '../runtime/db/pool.ts'

/** The operator's configuration. */
export interface NetworkParts {
  readonly publicUrl: URL | undefined
  readonly logKey?: NoteKey | undefined
  readonly payments: PaymentsConfig | undefined
}

const MODELS_PATH = '/v1/models'
const MCP_PATH = '/mcp'

/** GET /v1/network: the configured addresses of the gateway, and the keys and contracts to verify it with. */
export async function networkJson(db: Queryable, { publicUrl, logKey, payments }: NetworkParts) {
  const base = publicUrl?.href.replace(/\/+$/, '') ?? null
  const address = (path: string): string => `${base ?? ''}${path}`
  const sheet = await latestSheet(db)
  return {
    object: 'network' as const,
    base_url: base,
    endpoints: {
      api: address('/v1'),
      models: address(MODELS_PATH),
      openapi: address('/v1/openapi.json'),
      mcp: address(MCP_PATH),
      payments: payments === undefined ? null : address('/x402/v1'),
      pricing: address('/v1/pricing'),
      settlements: payments?.settlementAnchor ? address('/v1/settlements') : null,
      rewards: payments?.holders?.distributor ? address('/v1/holders/rewards') : null,
      vault: payments?.holders?.vault ? address('/v1/scoin') : null,
      catalog: address('/v1/catalog'),
      catalog_signer: address('/v1/catalog/signer'),
      status: address('/v1/status'),
    },
    chain: payments === undefined ? null : chainJson(payments, await bookPrice(db)),
    log:
      logKey === undefined
        ? null
        : { origin: logKey.name, key: logKey.verifier(), checkpoint: address('/v1/log/checkpoint') },
    versions: { gateway: GATEWAY_VERSION, price_sheet: sheet === undefined ? null : String(sheet.version) },
  }
}

function chainJson(config: PaymentsConfig, coinUsdUnits: number) {
  const { chainId, assets, agentRegistry, settlementAnchor, lockTokens, treasury } = config
  const shown = (address: Address | null) => (address === null ? null : getAddress(address))
  return {
    network: `eip155:${chainId}`,
    chain_id: chainId,
    treasury: getAddress(treasury.address),
    confirmations: config.confirmations,
    deposit_confirmations: config.depositConfirmations,
    assets: assets.map(({ id, address, name, decimals, method, usdUnits }) => ({
      id,
      address: getAddress(address),
      name,
      decimals,
      usd: formatUsd(usdUnits || coinUsdUnits),
      method,
    })),
    contracts: {
      permit2: getAddress(PERMIT2_ADDRESS),
      agent_registry: shown(agentRegistry),
      settlement_anchor: shown(settlementAnchor),
      lock_tokens: shown(lockTokens),
      scoin_vault: shown(config.holders?.vault ?? null),
      reward_distributor: shown(config.holders?.distributor ?? null),
    },
  }
}
