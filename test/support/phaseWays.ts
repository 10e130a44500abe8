import { PhaseFault } from '../../proxy/phases.ts'

/**
 * The phases that can follow a phase, directly or later.
 * @param assertChange of the table @throws the error of a change that fails in another way than by the table
 */
export function phasesAfter<Phase extends string>(
  phases: readonly Phase[],
  assertChange: (from: Phase, to: Phase) => void,
  from: Phase,
): Phase[] {
  const found = new Set<Phase>()
  const open = [from]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const to of phases) {
      if (found.has(to) || !isAllowed(assertChange, at, to)) continue
      found.add(to)
      open.push(to)
    }
  }
  return phases.filter((phase) => found.has(phase))
}

function isAllowed<Phase extends string>(
  assertChange: (from: Phase, to: Phase) => void,
  from: Phase,
  to: Phase,
): boolean {
  try {
    assertChange(from, to)
    return true
  } catch (error) {
    if (error instanceof PhaseFault) return false
    throw error
  }
}
