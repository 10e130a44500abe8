import { SPANS } from '../../contract/money/windows.ts'
import type { RefusedSettings } from '../../contract/wire/refusalRecord.ts'
import type { Principal } from '../access/principal.ts'

const MICROS_PER_MINUTE = 60_000_000

/** The settings of a key that its requests are checked by. */
export function settingsOf(principal: Principal): RefusedSettings {
  const { paused, expiresAtMs, models, caps, platform, agent } = principal
  return {
    paused,
    expiresAtMs,
    models: models === null ? null : models.size,
    caps: caps.texts.slice(0, SPANS.length),
    // Its id comes first.
    ...(platform !== null && { platformCaps: platform.caps.texts.slice(1, 1 + SPANS.length) }),
    requestsPerMinute: principal.requestsPerMinute || rateOf(caps.texts[SPANS.length]),
    requestCapUnits: agent?.requestCapUnits ?? null,
  }
}

/** The requests a minute of a rate as hold.lua takes it, `interval,burst`. */
function rateOf(rate: string | undefined): number {
  const intervalMicros = Number.parseInt(rate ?? '', 10)
  return intervalMicros > 0 ? Math.floor(MICROS_PER_MINUTE / intervalMicros) : 0
}
