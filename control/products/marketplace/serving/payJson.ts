import { formatUsd } from '../../../../contract/money/units.ts'
import { type Pay, PPM } from './admission.ts'

/** The pay of a provider, as shown: a share of each charge, or USD per million tokens. */
export function payJson(pay: Pay) {
  if (pay.kind === 'share') return { share: pay.ppm / PPM }
  const { input, cachedInput, output } = pay
  return { price: { input: formatUsd(input), cached_input: formatUsd(cachedInput), output: formatUsd(output) } }
}
