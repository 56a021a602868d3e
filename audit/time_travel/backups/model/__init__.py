"""What backups are: policies, sets, backups, the events that change them, their schedule and their time."""
