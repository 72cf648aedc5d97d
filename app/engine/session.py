"""One conversation's cache: which tokens it holds, how a reply is generated over it, how its scheme is changed."""
