/*
 * The bound and the grants, written for SPIN from docs/specification.md alone: a second opinion on B-2, B-3, B-4, B-5, B-7,
 * D-2 and on "a session ends, if its effects settle". What models, tools and callers do is left open: each may do
 * anything at any time, but a request, once sent, is answered, fails or times out.
 */
#ifdef TRACES
/*
 * The model takes only steps that a given trace takes next, and prints the number of each trace that it can follow to the
 * end. traces.h has the traces, a row each: its limits TURNS, RETRIES and TREE, its steps, and 0. COUNT is their number:
 * scripts/verify/spin-traces.ts.
 */
c_decl {
  \#include "traces.h"
};
short which = 0;
byte position = 3;
byte TURNS = 0;
byte RETRIES = 0;
byte TREE = 0;
bool ready = false;
#define may(step) c_expr { traces[now.which][now.position] == step }
#define saw(step) position++
/* Sub-agents that send nothing leave no trace; the model need not start them. */
#define sends (may(CHILDS) || may(COLLAPSE))
#else
#define may(step) true
#define saw(step) skip
#define sends true
#ifndef TURNS
#define TURNS 3
#endif
#ifndef RETRIES
#define RETRIES 2
#endif
/* All requests of the session and its sub-agents. */
#ifndef TREE
#define TREE 7
#endif
#endif
/* The most that one sub-agent may ask for: its own bound. */
#ifndef CHILD
#define CHILD 2
#endif
/* The most calls of one reply that start sub-agents. */
#ifndef CALLS
#define CALLS 2
#endif

#define TURN 1      /* a turn begins */
#define LAST 2      /* the last turn begins */
#define COLLAPSE 3  /* maxTurns shrinks */
#define REQUEST 4   /* the session sends a request */
#define WORK 5      /* tools of a reply are executed, or an approval is asked for */
#define CHILDS 6    /* a sub-agent sends a request */
#define END 7
#define STOP 8      /* the caller asks for the report next */

byte maxTurns = TURNS;
byte turn = 0;
byte requests = 0;      /* of the session itself */
byte sentByTree = 0;    /* of all, as a provider would count them */
byte spent = 0;         /* of the tree, as the session accounts for it */
byte reserved = 0;      /* what running sub-agents were granted */
byte running = 0;       /* sub-agents that run */
bool aborted = false;
bool forestalls = false; /* after a stop or the deadline, no approval is asked for */
bool ended = false;
bool workedLast = false; /* a tool other than the report was executed on the last turn (B-5) */

#define left (TREE - spent - reserved)

/* B-4: it only ever shrinks. */
inline collapse() {
  if
  :: atomic { turn + 1 < maxTurns && may(COLLAPSE) -> saw(COLLAPSE); maxTurns = turn + 1 }
  :: turn + 1 >= maxTurns -> skip
  fi
}

/* A sub-agent: it sends at most what it was granted, and gives the rest back. */
proctype Child(byte grant) {
  byte sent = 0;
  do
  :: atomic { sent < grant && !aborted && may(CHILDS) -> saw(CHILDS); sent++; sentByTree++ }
  :: break
  od;
  atomic { reserved = reserved - grant; spent = spent + sent; running-- }
}

/* Calls of one reply that start sub-agents: each gets a share of what is left but for one request, the report's. */
inline delegate() {
  byte shares;
  byte share;
  if
  :: left > 1 && sends ->
    select(shares : 1 .. CALLS);
    do
    :: shares > 0 && left > 1 ->
      atomic {
        share = (left - 1) / shares;
        if
        :: share > CHILD -> share = CHILD
        :: share == 0 -> share = 1
        :: else -> skip
        fi;
        reserved = reserved + share;
        running++;
        run Child(share)
      };
      shares--
    :: else -> break
    od;
    /* Every call is answered before the turn continues (C-1). */
    running == 0
  :: else -> skip
  fi
}

#ifdef TRACES
active proctype Chooser() {
  select(which : 0 .. COUNT - 1);
  c_code {
    now.TURNS = traces[now.which][0];
    now.RETRIES = traces[now.which][1];
    now.TREE = traces[now.which][2];
  };
  atomic { maxTurns = TURNS; ready = true }
}
#endif

active proctype Session() {
  byte attempt;
  bool isLast;
  bool reportOnly;
#ifdef TRACES
  ready;
#endif
advancing:
  if
  :: goto over                                /* what prepares it failed, or no target is left */
  :: aborted -> goto over
  :: !aborted && (turn >= maxTurns || left == 0) -> goto over
  :: !aborted && turn < maxTurns && left > 0 -> skip
  fi;
  if
  :: left == 1 -> collapse()
  :: else -> skip
  fi;
  atomic {
    if
    :: turn + 1 < maxTurns && may(TURN) -> saw(TURN)
    :: turn + 1 >= maxTurns && may(LAST) -> saw(LAST)
    fi;
    turn++;
    isLast = (turn >= maxTurns);
    attempt = 0
  };
choosing:
  if
  :: goto over                                /* no target is left, or none is free in time */
  :: aborted -> goto over
  :: !aborted && (attempt >= RETRIES || left == 0) -> goto over
  :: !aborted && attempt < RETRIES && left > 0 -> skip
  fi;
  if
  :: left == 1 -> collapse()
  :: else -> skip
  fi;
  reportOnly = isLast || left == 1;
  /* B-6: counted before it is sent. */
  atomic { may(REQUEST) -> saw(REQUEST); attempt++; requests++; spent++; sentByTree++ };
  if
  :: goto over                                /* a report was accepted */
  :: goto choosing                            /* a fault, or no progress */
  :: collapse(); goto choosing                /* a report was refused, or no room is left */
  :: forestalls && !reportOnly -> goto advancing /* its calls were forestalled (T-2) */
  :: atomic { !reportOnly && may(WORK) -> saw(WORK); workedLast = workedLast || isLast }
  fi;
  if
  :: goto advancing                           /* a tool ran, or was denied */
  :: goto choosing                            /* all tools failed */
  :: delegate();
     if
     :: goto advancing
     :: goto choosing
     fi
  fi;
over:
  atomic { running == 0 && may(END) -> saw(END); ended = true };
#ifdef TRACES
  if
  :: may(0) -> c_code { printf("followed %d\n", now.which); }
  :: else -> skip
  fi
#else
  skip
#endif
}

active proctype Deadline() {
#ifdef TRACES
  ready;
#endif
  if
  :: atomic { (turn + 1 >= maxTurns || may(COLLAPSE)) -> forestalls = true; collapse() }
  :: skip
  fi
}

active proctype Caller() {
#ifdef TRACES
  ready;
#endif
  if
  :: atomic { may(STOP) -> saw(STOP); forestalls = true; collapse() }
  :: skip
  fi;
  if
  :: aborted = true
  :: skip
  fi
}

#ifndef TRACES
ltl bound { [] (requests <= TURNS * RETRIES) }
ltl turns { [] (turn <= TURNS && maxTurns <= TURNS) }
ltl last { [] !workedLast }
ltl tree { [] (sentByTree <= TREE) }
ltl accounts { [] (ended -> (spent == sentByTree && reserved == 0)) }
ltl ends { <> ended }
#endif
