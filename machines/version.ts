/** The version of the machines (D-6): a digest of their sources. Written by `npm run draw`. */
export const machinesVersion = 'b4470b2191b9';
