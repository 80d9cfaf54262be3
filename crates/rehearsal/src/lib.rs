//! Rehearse AI agents before they meet the world: the library to depend on
