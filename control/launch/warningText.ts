// Fields that pino writes into every line, and fields that are shown in another way.
const COMMON = new Set(['level', 'time', 'pid', 'hostname', 'name', 'process', 'owner', 'event', 'msg', 'err'])
const WARNING_LEVEL = 40

/** A warning of a program, as the terminal shows it, and its fields. */
export interface Warning {
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
}

/**
 * The warning to show for a line of a program's log: lines of level warning or above with their own fields, such as the
 * provider and the reason; lines that are not JSON unchanged; other lines are not shown.
 */
export function warningOf(line: string): Warning | undefined {
  if (!line.startsWith('{')) {
    return line.startsWith('mock provider on') || line === '' ? undefined : { text: line, fields: {} }
  }
  try {
    const fields = JSON.parse(line) as Record<string, unknown> & { err?: { message?: string } }
    if (typeof fields['level'] !== 'number' || fields['level'] < WARNING_LEVEL) return undefined
    // Messages of errors of the chain client have several lines.
    const message = fields.err?.message?.trim().replace(/\s+/g, ' ')
    return { text: `${fields['msg']}${message === undefined ? '' : `: ${message}`}${subjectOf(fields)}`, fields }
  } catch {
    return { text: line, fields: {} }
  }
}

function subjectOf(fields: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(fields)
    .filter(([name, value]) => !COMMON.has(name) && ['string', 'number'].includes(typeof listed(value)))
    .map(([name, value]) => `${name}: ${listed(value)}`)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

const listed = (value: unknown): unknown => (Array.isArray(value) ? value.join('; ') : value)
