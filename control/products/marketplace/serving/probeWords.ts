/** The subjects of the gateway's own prompts. They are put together anew for each comparison; no list of prompts exists. */
const words = (text: string): readonly string[] => text.split(' ')

export const NOUNS = words(
  'house river garden bridge market kitchen letter window forest station library mountain harbour bicycle teacher doctor engine camera island village castle ticket blanket basket mirror candle pencil lantern orchard meadow tunnel valley theatre museum airport factory hospital farmer painter baker captain sailor neighbour customer manager invoice contract meeting report project budget schedule deadline printer keyboard server database network password account warehouse delivery package supplier holiday recipe soup bread cheese apple lemon carrot pepper coffee breakfast dinner restaurant hotel suitcase passport train ferry weather storm winter summer morning evening weekend birthday wedding concert guitar violin novel poem newspaper magazine university student exam lecture',
)
export const ADJECTIVES = words(
  'old new small large quiet noisy bright dark red green blue yellow white black cold warm dry wet narrow wide heavy light soft hard early late cheap expensive broken clean empty full friendly famous hidden modern ancient wooden golden silver round square gentle strange simple careful sudden',
)
export const VERBS = words(
  'open close paint repair sell buy clean visit follow describe count carry move draw photograph remember finish start plan check answer copy deliver order cancel confirm review print translate measure improve discuss',
)
export const NAMES = words(
  'Anna Ben Clara David Elena Farid Grace Hugo Ines Jonas Kenji Lena Marco Nadia Oscar Priya Quentin Rosa Samuel Tara Umar Vera Walter Xenia Yusuf Zoe Amara Boris Chloe Dmitri',
)
export const CITIES = words(
  'Lisbon Vienna Oslo Dublin Prague Athens Warsaw Helsinki Madrid Brussels Nairobi Cairo Lima Quito Ottawa Canberra Seoul Hanoi Jakarta Tokyo',
)
export const COUNTRIES = words(
  'Portugal Austria Norway Ireland Greece Poland Finland Spain Belgium Kenya Egypt Peru Ecuador Canada Australia Vietnam Indonesia Japan France Italy Denmark Hungary Sweden Chile Cuba Nepal Thailand Morocco Iceland Jordan',
)
export const LANGUAGES = words('French Spanish German Italian Portuguese Dutch Swedish')
