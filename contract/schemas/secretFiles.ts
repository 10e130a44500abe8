import { readSecret } from '../providers/providerKeys.ts'

const SUFFIX = '_FILE'

/** The variable that names a file with the value of a secret one. */
export function fileVariable(name: string): string {
  return `${name}${SUFFIX}`
}

/**
 * The value of a secret variable, from itself or from the file that its file variable names.
 * @returns undefined where neither is set
 * @throws Error when both are set, or the file has no value; it repeats no secret
 */
export function secretValue(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const [own, file] = [env[name], env[fileVariable(name)]]
  if (!file) return own
  if (own) throw new Error(`${name} and ${fileVariable(name)} are both set: set one of them`)
  const { text, fault } = readSecret({ env: '', file }, env)
  if (fault !== '') throw new Error(`${fileVariable(name)} names a file that cannot be used: ${file}: ${fault}`)
  return text
}

/**
 * Puts the values of files into the environment, for a program that hands it on to others.
 * @param secrets names of secret variables
 * @throws as secretValue
 */
export function takeSecretFiles(env: NodeJS.ProcessEnv, secrets: readonly string[]): void {
  for (const name of secrets) {
    const value = secretValue(name, env)
    if (value !== undefined) env[name] = value
    delete env[fileVariable(name)]
  }
}
