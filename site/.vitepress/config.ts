import { defineConfig } from 'vitepress';

const guides = [
  ['tools', 'Tools'],
  ['testing', 'Testing'],
  ['control', 'Control'],
  ['options', 'Options'],
  ['ui', 'On a page'],
  ['many', 'Many sessions'],
  ['durability', 'Nothing lost'],
  ['inspector', 'The inspector'],
  ['telemetry', 'Telemetry'],
  ['serving', 'Serving'],
  ['workflow', 'Workflow'],
  ['verification', 'Verification'],
  ['torture', 'Torture'],
  ['xstate', 'XState'],
].map(([name, text]) => ({ text, link: `/docs/guides/${name}` }));

export default defineConfig({
  title: 'Pawl',
  description: 'LLM agent sessions that are bounded, answered and accounted for',
  srcDir: 'pages',
  outDir: 'dist',
  cleanUrls: false,
  lastUpdated: false,
  // Drawn by the repository's own pictures; a site without a network loads no fonts.
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        // Decisions, machines and pictures are for those who are led there; a question wants an answer.
        _render: (source, env, markdown) =>
          /^(?:docs\/decisions|machines|visualizations|src|test|scripts)\b/.test(env.relativePath) ||
          /\.(?:ts|tsx|js|css|json|yml|mjs|py)\.md$/.test(env.relativePath)
            ? ''
            : markdown.render(source, env),
        miniSearch: {
          searchOptions: {
            boostDocument: (id: string) =>
              /howto/.test(id) ? 3 : /\/guides\/|^\/docs\/(?:index|concepts)/.test(id) ? 2 : 1,
          },
        },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'First ten minutes', link: '/docs/' },
      { text: 'How do I …', link: '/docs/guides/howto' },
      { text: 'API', link: '/api/' },
      { text: 'Compared', link: '/docs/comparison' },
    ],
    sidebar: [
      {
        text: 'Begin',
        items: [
          { text: 'Overview', link: '/overview' },
          { text: 'First ten minutes', link: '/docs/' },
          { text: 'Concepts', link: '/docs/concepts' },
          { text: 'How do I …', link: '/docs/guides/howto' },
          { text: 'Moving to Pawl', link: '/docs/guides/moving' },
          { text: 'Examples', link: '/examples/' },
        ],
      },
      { text: 'Guides', items: guides },
      {
        text: 'Reference',
        items: [
          { text: 'API', link: '/api/' },
          { text: 'Events', link: '/docs/events' },
          { text: 'Slugs', link: '/docs/slugs' },
          { text: 'Log lines', link: '/docs/logging' },
          { text: 'Providers', link: '/docs/providers' },
          { text: 'Glossary', link: '/docs/glossary' },
          { text: 'Specification', link: '/docs/specification' },
          { text: 'Machines', link: '/machines/' },
          { text: 'Architecture', link: '/docs/architecture' },
          { text: 'Decisions', link: '/docs/decisions/' },
          { text: 'Changelog', link: '/CHANGELOG' },
          { text: 'Security', link: '/SECURITY' },
        ],
      },
      {
        text: 'Proof',
        items: [
          { text: 'What is proved, and how', link: '/docs/proof' },
          { text: 'In figures', link: '/docs/verification' },
          { text: 'Loops compared', link: '/docs/comparison' },
          { text: 'Suites of protocols', link: '/docs/conformance' },
          { text: 'Performance', link: '/docs/performance' },
        ],
      },
    ],
  },
});
