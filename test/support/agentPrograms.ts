import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { projectRoot } from '../../control/launch/paths.ts'

const TIMEOUT_MS = 240_000
const run = promisify(execFile)

/** A gateway as an agent is told of it. */
export interface AgentGateway {
  /** Without /v1. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly model: string
}

/** A coding agent, and how it is set up and asked. */
export interface Agent {
  /** Its path below the folder of the programs. */
  readonly program: string
  readonly args: (task: string) => string[]
  /** Variables of its environment. */
  readonly env: (gateway: AgentGateway) => Record<string, string>
  /** The path below its home folder and the text of its settings. */
  readonly settings?: (gateway: AgentGateway) => readonly [path: string, text: string]
}

/** The folder of the agents' programs, which are installed when that is due. */
export function agentPrograms(): string {
  return execFileSync(process.execPath, [join(projectRoot, 'scripts/agents.mjs')], { encoding: 'utf8' }).trim()
}

/**
 * Has an agent do a task in a folder, with nothing of this machine's environment but the path.
 * @param programs from `agentPrograms`
 * @param dir of which `home` is made its home and `work` its working folder
 * @returns what it said
 * @throws when it ends with an error, with what it said
 */
export async function runAgent(
  agent: Agent,
  programs: string,
  dir: string,
  gateway: AgentGateway,
  task: string,
): Promise<string> {
  const home = join(dir, 'home')
  const work = join(dir, 'work')
  for (const folder of [home, work]) mkdirSync(folder, { recursive: true })
  const [path, text] = agent.settings?.(gateway) ?? ['', '']
  if (path !== '') {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const env = {
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
    HOME: home,
    ...agent.env(gateway),
  }
  const child = run(join(programs, agent.program), agent.args(task), { cwd: work, env, timeout: TIMEOUT_MS })
  child.child.stdin?.end()
  const { stdout } = await child
  return stdout
}

const KEY = 'SLUICE_KEY'

/** Codex, which speaks Responses. */
export const CODEX: Agent = {
  program: 'codex',
  args: (task) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', task],
  env: ({ apiKey }) => ({ [KEY]: apiKey }),
  settings: (gateway) => codexSettings(gateway, 'Sluice', []),
}

/**
 * Codex as it compacts a conversation that has grown beyond a limit: by its provider, if that has the name "OpenAI", with a
 * `compaction_trigger`.
 */
export function compactingCodex(tokensMax: number): Agent {
  const limit = `model_auto_compact_token_limit = ${tokensMax}`
  return { ...CODEX, settings: (gateway) => codexSettings(gateway, 'OpenAI', [limit]) }
}

/** An older Codex, which compacts by /v1/responses/compact where its newer way is switched off. */
export function codexThatCompactsByPath(tokensMax: number): Agent {
  return {
    ...compactingCodex(tokensMax),
    program: '../codex-that-compacts-by-path/bin/codex.js',
    args: (task) => ['--disable', 'remote_compaction_v2', ...CODEX.args(task)],
  }
}

/** @param more lines before those of the provider */
function codexSettings(
  { baseUrl, model }: AgentGateway,
  name: string,
  more: readonly string[],
): readonly [string, string] {
  const lines = [
    `model = "${model}"`,
    'model_provider = "sluice"',
    ...more,
    '[model_providers.sluice]',
    `name = "${name}"`,
    `base_url = "${baseUrl}/v1"`,
    `env_key = "${KEY}"`,
    'wire_api = "responses"',
  ]
  return ['.codex/config.toml', lines.join('\n')]
}

/** Claude Code, which speaks Messages. */
export const CLAUDE: Agent = {
  program: 'claude',
  args: (task) => ['-p', '--permission-mode', 'acceptEdits', '--allowedTools', 'Bash,Read,Write,Edit', '--', task],
  env: ({ baseUrl, apiKey, model }) => ({
    ANTHROPIC_BASE_URL: baseUrl,
    ANTHROPIC_AUTH_TOKEN: apiKey,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_SMALL_FAST_MODEL: model,
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: '16000',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }),
}

/** opencode, which speaks chat completions. */
export const OPENCODE: Agent = {
  program: 'opencode',
  args: (task) => ['run', task],
  env: ({ apiKey }) => ({ [KEY]: apiKey, OPENCODE_DISABLE_AUTOUPDATE: '1' }),
  settings: ({ baseUrl, model }) => [
    '.config/opencode/opencode.json',
    JSON.stringify({
      autoupdate: false,
      model: `sluice/${model}`,
      permission: { bash: 'allow', edit: 'allow' },
      provider: {
        sluice: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${baseUrl}/v1`, apiKey: `{env:${KEY}}` },
          models: { [model]: { name: model, limit: { context: 128_000, output: 16_000 } } },
        },
      },
    }),
  ],
}
