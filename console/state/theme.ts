import { computed, effect, signal } from '@preact/signals'

const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const systemIsDark = signal(prefersDark.matches)
prefersDark.addEventListener('change', (event) => {
  systemIsDark.value = event.matches
})

/** The choice of the switch; it lives in memory, and the system's colors are used until it is pressed. */
const chosen = signal<'light' | 'dark' | undefined>(undefined)

export const isDark = computed(() => (chosen.value === undefined ? systemIsDark.value : chosen.value === 'dark'))

effect(() => {
  document.documentElement.setAttribute('data-theme', isDark.value ? 'dark' : 'light')
})

export function switchTheme(): void {
  chosen.value = isDark.value ? 'light' : 'dark'
}
