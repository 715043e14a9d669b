import { type Slug, slugs, slugTable } from '../../machines/index.ts';

/** The text of docs/slugs.md, made from the slug table. */
export function slugDocument(): string {
  return [
    '# Slugs',
    'Every failure has one of these names (S-1). This page is made from `machines/contract/slugs.ts` by `npm run draw`.',
    ...slugs.map(section),
  ]
    .join('\n\n')
    .concat('\n');
}

function section(slug: Slug): string {
  const { means, happened, todo, todoByText, person, advice } = slugTable[slug];
  return [
    `## ${slug}`,
    '',
    means,
    '',
    `- Report: ${person}`,
    ...(advice === undefined ? [] : [`- Advice: ${advice}`]),
    `- Notice: ${happened}`,
    `- Notice, what to do: ${todo}`,
    ...(todoByText === undefined ? [] : [`- Notice, what to do (\`finish: 'text'\`): ${todoByText}`]),
  ].join('\n');
}
