import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../../control/launch/paths.ts'

/** One instruction; `text` has the defaults of ARG in it. */
export interface Step {
  readonly instruction: string
  readonly text: string
}

export interface Stage {
  readonly name: string
  readonly base: string
  readonly steps: readonly Step[]
}

/** The stages of deploy/Dockerfile. @param given build arguments in place of the defaults */
export function imageStages(given: Readonly<Record<string, string>> = {}): Stage[] {
  const values: Record<string, string> = {}
  const stages: { name: string; base: string; steps: Step[] }[] = []
  for (const line of lines()) {
    const [, instruction = '', rest = ''] = /^([A-Z]+)\s+([\s\S]*)$/.exec(line) ?? []
    const text = rest.replace(/\$\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
    if (instruction === 'ARG') {
      const [name = '', value] = text.split('=')
      values[name] = given[name] ?? value ?? ''
    } else if (instruction === 'FROM') {
      const [base = '', , name = ''] = text.split(/\s+/)
      stages.push({ name, base, steps: [] })
    } else stages.at(-1)?.steps.push({ instruction, text })
  }
  return stages
}

/** The last stage, which is the image. */
export function imageStage(given: Readonly<Record<string, string>> = {}): Stage {
  const stage = imageStages(given).at(-1)
  if (stage === undefined) throw new Error('deploy/Dockerfile has no stage')
  return stage
}

/** The environment that each container of the image has. */
export function imageEnvironment(): Record<string, string> {
  const own = imageStage().steps.filter(({ instruction }) => instruction === 'ENV')
  return Object.fromEntries(
    own.flatMap(({ text }) => text.split(/\s+/)).map((pair) => pair.split('=', 2) as [string, string]),
  )
}

/** The words of COPY, without those that begin with `--`. */
export function copied({ text }: Step): { from: string | undefined; sources: string[]; target: string } {
  const words = text.split(/\s+/)
  const from = /--from=(\S+)/.exec(text)?.[1]
  const paths = words.filter((word) => !word.startsWith('--'))
  return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' }
}

function lines(): string[] {
  const text = readFileSync(join(projectRoot, 'deploy/Dockerfile'), 'utf8')
  const code = text.split('\n').filter((line) => !line.startsWith('#'))
  return code
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter(Boolean)
}
