"""What `spanjudge demo` plays: sessions of a made-up boat hire, shaped as three harnesses record theirs."""
