import { IMPACTS, type Incident, incidentJson } from '../../contract/api/incidents.ts'
import { closeIncident, openIncident, shownIncidents } from '../catalog/status/incidents.ts'
import { syncStatus } from '../catalog/status/statusRecord.ts'
import { OPERATOR } from '../runtime/activity/activity.ts'
import { type Pool, withTransaction } from '../runtime/db/pool.ts'
import { type Arguments, argument, type CommandGroup, flag, isSet, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { facts, table } from './table.ts'

const TITLE_CHARACTERS_MAX = 200
const NOTE_CHARACTERS_MAX = 1_000

function bounded(what: string, text: string, charactersMax: number): string {
  const trimmed = text.trim()
  if ([...trimmed].length > charactersMax) throw new UsageError(`${what} may have ${charactersMax} characters`)
  return trimmed
}

/** Models that a client could have meant; a name that no catalog has ever had is a slip. */
async function knownModels(pool: Pool, models: readonly string[]): Promise<readonly string[]> {
  if (models.length === 0) return models
  const found = await pool.query<{ id: string }>('SELECT id FROM catalog_models WHERE id = ANY($1)', [models])
  const known = new Set(found.rows.map(({ id }) => id))
  const unknown = models.find((model) => !known.has(model))
  if (unknown !== undefined) throw new CommandError(`no catalog has had a model ${unknown}`)
  return models
}

/** The book has it; the proxies hear of it now, or from control within seconds. */
async function tellProxies(pool: Pool, context: CliContext): Promise<void> {
  try {
    await syncStatus(pool, await context.redis(), context.limits)
  } catch (error) {
    context.warn(`note: the proxies will hear of it from control: ${(error as Error).message}`)
  }
}

function show(context: CliContext, incident: Incident): void {
  const shown = incidentJson(incident)
  const text = facts([
    ['incident', shown.id],
    ['title', shown.title],
    ['impact', shown.impact],
    ['status', shown.status],
    ['models', shown.models.join(', ') || 'all'],
    ['opened', shown.opened_at],
    ...(shown.closed_at === null ? [] : [['closed', shown.closed_at] as const]),
  ])
  context.print(shown, text)
}

async function open(args: Arguments, context: CliContext): Promise<undefined> {
  const title = bounded('a title', argument(args, 'TITLE'), TITLE_CHARACTERS_MAX)
  if (title === '') throw new UsageError('an incident needs a title')
  const wanted = flag(args, 'impact') ?? 'minor'
  const impact = IMPACTS.find((one) => one === wanted)
  if (impact === undefined) throw new UsageError(`--impact must be one of ${IMPACTS.join(', ')}, not "${wanted}"`)
  const note = bounded('a note', flag(args, 'note') ?? '', NOTE_CHARACTERS_MAX)
  const pool = await context.pool()
  const models = await knownModels(pool, args.flags.get('model') ?? [])
  const incident = await withTransaction(pool, (client) =>
    openIncident(client, OPERATOR, { title, impact, models, note }, context.limits),
  )
  await tellProxies(pool, context)
  show(context, incident)
}

async function close(args: Arguments, context: CliContext): Promise<undefined> {
  const note = bounded('a note', flag(args, 'note') ?? '', NOTE_CHARACTERS_MAX)
  const pool = await context.pool()
  const incident = await withTransaction(pool, (client) => closeIncident(client, OPERATOR, argument(args, 'ID'), note))
  await tellProxies(pool, context)
  show(context, incident)
}

async function list(args: Arguments, context: CliContext): Promise<undefined> {
  const incidents = await shownIncidents(await context.pool(), context.limits)
  const wanted = isSet(args, 'all') ? incidents : incidents.filter(({ closedAtMs }) => closedAtMs === null)
  const data = wanted.map(incidentJson)
  const rows = data.map(({ id, impact, status, opened_at: since, title }) => [id, impact, status, since, title])
  const text = rows.length === 0 ? 'no incident' : table(['INCIDENT', 'IMPACT', 'STATUS', 'SINCE', 'TITLE'], rows)
  context.print({ data }, text)
}

export const INCIDENT: CommandGroup = {
  name: 'incident',
  summary: 'announce incidents at /v1/status',
  commands: [
    {
      synopsis: 'open <TITLE>',
      summary: 'Opens an incident; every proxy shows it within a second.',
      flags: {
        impact: { value: 'IMPACT', help: `${IMPACTS.join(', ')} (minor)` },
        model: { value: 'ID', help: 'an affected model; without any, the whole service is affected', repeatable: true },
        note: { value: 'TEXT', help: 'details' },
      },
      run: open,
    },
    {
      synopsis: 'close <ID>',
      summary: 'Closes an incident; the history keeps it.',
      flags: { note: { value: 'TEXT', help: 'how it ended' } },
      run: close,
    },
    {
      synopsis: 'list',
      summary: 'Lists the open incidents.',
      flags: { all: { help: 'include closed incidents of the last months' } },
      run: list,
    },
  ],
}
