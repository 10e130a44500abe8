import { CONTROL_EVENTS } from '../../dist/control/runtime/logEvents.js'
import { PROXY_EVENTS } from '../../dist/proxy/logEvents.js'
import { code, page, table } from './markdown.mjs'

function tableOf(events) {
  const rows = Object.entries(events).sort(([a], [b]) => (a < b ? -1 : 1))
  return table(
    ['event', 'level', 'text', 'what to do'],
    rows.map(([name, [level, text, advice = '']]) => [code(name), level, text, advice]),
  )
}

/** docs/reference/logs.md: the events that the programs log. */
export function logsPage() {
  return page('Log events', '`proxy/logEvents.ts` and `control/runtime/logEvents.ts`', [
    'The programs log JSON lines to standard output; `make run` keeps them in `.sluice/logs/`. Each line has the stable name of its `event`, the `level` as a number (debug 20, info 30, warn 40, error 50, fatal 60), the `time` in milliseconds, and fields of its own, such as `route` and `reason`. Alert on `event` and `level`: the text in `msg` may be reworded, the names are kept. `LOG_LEVEL` sets the lowest level that is logged. A log that cannot be written, as on a full disk, stops no program: up to 1 MiB of lines wait in memory, and those beyond it are dropped. Errors that come again as long as their cause lasts are one line a minute, with the number of `repeats` since the last one. Prompts, answers and secrets are never logged.',
    '```json\n{"level":40,"time":1795227423510,"process":"proxy","event":"route_failed","route":"acme/chat-small@acme","reason":"timeout","msg":"provider route failed"}\n```',
    '## Events of the proxy',
    tableOf(PROXY_EVENTS),
    '## Events of control',
    tableOf(CONTROL_EVENTS),
  ])
}
