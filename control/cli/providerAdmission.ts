import { HOUR_MS } from '../../contract/api/time.ts'
import { type Pay, PPM, type ProviderAdmission, type Terms } from '../products/marketplace/serving/admission.ts'
import {
  AdmissionError,
  admitProvider,
  resumeProvider,
  retireProvider,
  suspendProvider,
} from '../products/marketplace/serving/admit.ts'
import { payJson } from '../products/marketplace/serving/payJson.ts'
import { OPERATOR } from '../runtime/activity/activity.ts'
import { type Client, withTransaction } from '../runtime/db/pool.ts'
import { type Arguments, argument, type Command, flag, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { facts } from './table.ts'
import { amountOf, formatTime } from './values.ts'

const HOURS_MAX = 720
const REASON_CHARACTERS_MAX = 500

const DEFAULTS = {
  canary: '0.01',
  full: '0.2',
  'probation-hours': '72',
  'probation-requests': '1000',
  'error-rate': '0.02',
  'first-output': '5000',
  'mismatch-rate': '0.2',
} as const

/** A share such as 0.05, in 1/1000000. @throws UsageError */
function ppmOf(name: string, text: string, least = 0, most = PPM): number {
  const ppm = Math.round(Number(text) * PPM)
  if (/^\d(\.\d{1,6})?$/.test(text) && ppm >= least && ppm <= most) return ppm
  throw new UsageError(`--${name} must be a share from ${least / PPM} to ${most / PPM} such as 0.05, not "${text}"`)
}

/** @throws UsageError */
function countOf(name: string, text: string, least: number, most: number): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= least && count <= most) return count
  throw new UsageError(`--${name} must be an integer from ${least} to ${most}, not "${text}"`)
}

const PPM_PER_BPS = PPM / 10_000

/**
 * The pay of a provider. A share and the referral share are at most the whole charge: with more, an account that spends coin at
 * an endpoint of its own person would gain coin.
 * @throws UsageError
 */
function payOf(args: Arguments, { referralShareBps }: Pick<CliContext['limits'], 'referralShareBps'>): Pay {
  const [share, input, output] = [flag(args, 'share'), flag(args, 'price-input'), flag(args, 'price-output')]
  if (share !== undefined && input === undefined && output === undefined) {
    return { kind: 'share', ppm: ppmOf('share', share, 0, PPM - referralShareBps * PPM_PER_BPS) }
  }
  if (share !== undefined || input === undefined || output === undefined) {
    throw new UsageError(
      'say what it is paid: --share 0.7, or --price-input USD and --price-output USD per million tokens',
    )
  }
  const inputUnits = amountOf('price-input', input)
  const cached = flag(args, 'price-cached-input')
  const cachedInput = cached === undefined ? inputUnits : amountOf('price-cached-input', cached)
  return { kind: 'price', input: inputUnits, cachedInput, output: amountOf('price-output', output) }
}

/** @throws UsageError */
function termsOf(args: Arguments, limits: CliContext['limits']): Terms {
  const given = (name: keyof typeof DEFAULTS): string => flag(args, name) ?? DEFAULTS[name]
  const canaryPpm = ppmOf('canary', given('canary'), 1)
  const fullPpm = ppmOf('full', given('full'), 1)
  if (fullPpm < canaryPpm) throw new UsageError('--full must not be below --canary')
  return {
    pay: payOf(args, limits),
    canaryPpm,
    fullPpm,
    probationMs: countOf('probation-hours', given('probation-hours'), 0, HOURS_MAX) * HOUR_MS,
    probationRequests: countOf('probation-requests', given('probation-requests'), 0, 1_000_000),
    errorPpmMax: ppmOf('error-rate', given('error-rate')),
    firstOutputMaxMs: countOf('first-output', given('first-output'), 1, 600_000),
    mismatchPpmMax: ppmOf('mismatch-rate', given('mismatch-rate')),
  }
}

function admissionJson(admission: ProviderAdmission) {
  const { id, providerId, model, upstreamModel, state, canaryPpm, fullPpm, admittedAtMs } = admission
  return {
    id,
    provider: providerId,
    model,
    upstream_model: upstreamModel,
    state,
    pay: payJson(admission.pay),
    canary: canaryPpm / PPM,
    full: fullPpm / PPM,
    admitted_at: formatTime(admittedAtMs),
  }
}

/** Changes the book for the operator; control has the proxies know within a second or two. */
async function change<T>(context: CliContext, work: (client: Client) => Promise<T>): Promise<T> {
  try {
    return await withTransaction(await context.pool(), work)
  } catch (error) {
    if (error instanceof AdmissionError) throw new CommandError(error.message)
    throw error
  }
}

async function admit(args: Arguments, context: CliContext): Promise<undefined> {
  const [id, model] = [argument(args, 'ID'), argument(args, 'MODEL')]
  const terms = termsOf(args, context.limits)
  const upstreamModel = flag(args, 'upstream-model') ?? model
  const admission = await change(context, (client) =>
    admitProvider(client, OPERATOR, id, { model, upstreamModel }, terms),
  )
  const json = admissionJson(admission)
  const text = facts([
    ['provider', id],
    ['model', `${model} (${upstreamModel})`],
    ['state', admission.state],
    ['pay', JSON.stringify(json.pay)],
    ['traffic', `${json.canary}, later ${json.full}`],
  ])
  context.print(json, text)
}

function changed(context: CliContext, what: string, admissions: readonly ProviderAdmission[]): undefined {
  const models = admissions.map(({ model }) => model)
  const provider = admissions[0]?.providerId ?? ''
  context.print({ provider, models, state: what }, `${provider} is ${what} for ${models.join(', ')}`)
}

async function suspend(args: Arguments, context: CliContext): Promise<undefined> {
  const reason = (flag(args, 'reason') ?? 'by the operator').trim()
  if (reason.length > REASON_CHARACTERS_MAX)
    throw new UsageError(`--reason may have ${REASON_CHARACTERS_MAX} characters`)
  const [id, model] = [argument(args, 'ID'), args.named.get('MODEL')]
  const found = await change(context, (client) => suspendProvider(client, OPERATOR, id, model, reason))
  return changed(context, 'suspended', found)
}

async function resume(args: Arguments, context: CliContext): Promise<undefined> {
  const [id, model] = [argument(args, 'ID'), args.named.get('MODEL')]
  const found = await change(context, (client) => resumeProvider(client, OPERATOR, id, model))
  return changed(context, 'on probation', found)
}

async function retire(args: Arguments, context: CliContext): Promise<undefined> {
  const [id, model] = [argument(args, 'ID'), argument(args, 'MODEL')]
  const found = await change(context, async (client) => {
    const retired = await retireProvider(client, OPERATOR, id, model, 'by the operator')
    if (retired.length === 0) throw new AdmissionError(`${id} is not admitted for ${model}; see provider list`)
    return retired
  })
  return changed(context, 'retired', found)
}

/** Commands for the admissions of registered providers. */
export const ADMISSION_COMMANDS: readonly Command[] = [
  {
    synopsis: 'admit <ID> <MODEL>',
    summary:
      'Lets an offered endpoint serve a share of the requests to a chat model of the catalog, on probation first.',
    flags: {
      'upstream-model': { value: 'NAME', help: 'how the endpoint calls the model (as the catalog does)' },
      share: { value: 'SHARE', help: 'its pay: the part of each charge, such as 0.7' },
      'price-input': { value: 'USD', help: 'or a price per million input tokens, never more than the charge' },
      'price-cached-input': { value: 'USD', help: 'the same of cached ones (as input)' },
      'price-output': { value: 'USD', help: 'the same of output tokens' },
      canary: { value: 'SHARE', help: `its share of eligible requests on probation (${DEFAULTS.canary})` },
      full: { value: 'SHARE', help: `its share after it (${DEFAULTS.full})` },
      'probation-hours': { value: 'N', help: `how long probation lasts at least (${DEFAULTS['probation-hours']})` },
      'probation-requests': { value: 'N', help: `and how many requests (${DEFAULTS['probation-requests']})` },
      'error-rate': { value: 'SHARE', help: `the bar of failures (${DEFAULTS['error-rate']})` },
      'first-output': {
        value: 'MS',
        help: `the bar of the 95th percentile of first output of streams (${DEFAULTS['first-output']})`,
      },
      'mismatch-rate': { value: 'SHARE', help: `the bar of answers that differ (${DEFAULTS['mismatch-rate']})` },
    },
    run: admit,
  },
  {
    synopsis: 'suspend <ID> [MODEL]',
    summary: 'Sends an endpoint no more requests, for one model or all, until it is resumed.',
    flags: { reason: { value: 'TEXT', help: 'why, for its owner and the public list' } },
    run: suspend,
  },
  {
    synopsis: 'resume <ID> [MODEL]',
    summary: 'Puts a suspended endpoint back on probation and forgets its suspensions.',
    run: resume,
  },
  {
    synopsis: 'retire <ID> <MODEL>',
    summary: 'Ends the admission of an endpoint; it may be admitted again, by other terms.',
    run: retire,
  },
]
