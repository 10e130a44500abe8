import { CONTRACT_LIMITS, type ContractLimits, type LimitsOf, readPart } from '../contract/limits/limits.ts'
import { ACCESS_LIMITS } from './access/limits.ts'
import { ADMISSION_LIMITS } from './admission/limits.ts'
import { BUS_LIMITS } from './bus/limits.ts'
import { CATALOG_LIMITS } from './catalog/limits.ts'
import { DIALECT_LIMITS } from './dialects/limits.ts'
import { CHAT_LIMITS } from './endpoints/chat/limits.ts'
import { LARGE_BODY_LIMITS } from './endpoints/largeBodies/limits.ts'
import { ENDPOINT_LIMITS } from './endpoints/limits.ts'
import { MCP_LIMITS } from './endpoints/mcp/limits.ts'
import { MESSAGE_LIMITS } from './endpoints/messages/limits.ts'
import { MODALITY_LIMITS } from './endpoints/modalities/limits.ts'
import { RUN_LIMITS } from './endpoints/run/limits.ts'
import { STATUS_LIMITS } from './endpoints/status/limits.ts'
import { TOKEN_LIMITS } from './endpoints/tokens/limits.ts'
import { TOOL_LIMITS } from './endpoints/tools/limits.ts'
import { VIDEO_LIMITS } from './endpoints/videos/limits.ts'
import { JSON_LIMITS } from './json/limits.ts'
import { METRICS_LIMITS } from './metrics/limits.ts'
import { PAYMENT_LIMITS } from './payments/limits.ts'
import { QUOTA_LIMITS } from './quotas/limits.ts'
import { REFUSAL_LIMITS } from './refusals/limits.ts'
import { SERVER_LIMITS } from './server/limits.ts'
import { SSE_LIMITS } from './sse/limits.ts'
import { SUPERVISOR_LIMITS } from './supervisor/limits.ts'
import { TRACE_LIMITS } from './traces/limits.ts'
import { UPLOAD_LIMITS } from './upload/limits.ts'
import { UPSTREAM_LIMITS } from './upstream/limits.ts'

/** The limits of the proxy alone, by room. */
export const PROXY_LIMITS = {
  ...JSON_LIMITS,
  ...SSE_LIMITS,
  ...BUS_LIMITS,
  ...METRICS_LIMITS,
  ...TRACE_LIMITS,
  ...REFUSAL_LIMITS,
  ...SERVER_LIMITS,
  ...ACCESS_LIMITS,
  ...ADMISSION_LIMITS,
  ...QUOTA_LIMITS,
  ...CATALOG_LIMITS,
  ...UPSTREAM_LIMITS,
  ...DIALECT_LIMITS,
  ...PAYMENT_LIMITS,
  ...SUPERVISOR_LIMITS,
  ...TOKEN_LIMITS,
  ...LARGE_BODY_LIMITS,
  ...RUN_LIMITS,
  ...CHAT_LIMITS,
  ...MESSAGE_LIMITS,
  ...MODALITY_LIMITS,
  ...TOOL_LIMITS,
  ...MCP_LIMITS,
  ...VIDEO_LIMITS,
  ...STATUS_LIMITS,
  ...ENDPOINT_LIMITS,
  ...UPLOAD_LIMITS,
}

export type Limits = ContractLimits & LimitsOf<typeof PROXY_LIMITS>

/**
 * The limits that the proxy runs under.
 * @param overrides the text of SLUICE_LIMITS; see `readPart`
 * @throws Error naming what is wrong in it
 */
export function readLimits(overrides: string | undefined): Limits {
  return readPart('proxy', { ...CONTRACT_LIMITS, ...PROXY_LIMITS }, overrides)
}
